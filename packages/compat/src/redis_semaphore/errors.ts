/** The lock was not free within `acquireTimeout`. `cause` says who holds it. */
export class TimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "TimeoutError";
}

/** The lock was lost before it was released. `cause` says how. */
export class LostLockError extends Error {
  /** The name of the class. */
  override readonly name = "LostLockError";
}
