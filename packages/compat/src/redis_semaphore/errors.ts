/** The lock was not free within `acquireTimeout`. `cause` names its holder. */
export class TimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "TimeoutError";
}

/** The lock was lost before it was released. `cause` has the reason. */
export class LostLockError extends Error {
  /** The name of the class. */
  override readonly name = "LostLockError";
}
