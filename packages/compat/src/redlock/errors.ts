import type { RedisClient } from "@holdfast/lock/redis";

/** The votes of the clients. */
export interface ExecutionStats {
  /** How many clients there are. */
  readonly membershipSize: number;
  /** How many clients are a majority. */
  readonly quorumSize: number;
  /** The clients without a known failure. */
  readonly votesFor: Set<RedisClient>;
  /** The failed clients, with their errors. A busy lock was refused by a majority: then all clients are listed. */
  readonly votesAgainst: Map<RedisClient, Error>;
}

/** The result of a call that succeeded. */
export interface ExecutionResult {
  /** The attempts that counted; the last one succeeded. Only the last attempts if their number is unlimited. */
  readonly attempts: readonly Promise<ExecutionStats>[];
}

/** The reason why a client did not grant the lock: another holder has it. */
export class ResourceLockedError extends Error {
  /** The name of the class. */
  override readonly name = "ResourceLockedError";
}

/** The call failed. `cause` is the error of `@holdfast/lock`, with the reason. */
export class ExecutionError extends Error {
  /** The name of the class. */
  override readonly name = "ExecutionError";
  /** The votes in each attempt; empty when no client was asked. */
  readonly attempts: readonly Promise<ExecutionStats>[];

  /** Makes the error. */
  constructor(message: string, attempts: readonly Promise<ExecutionStats>[], options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}
