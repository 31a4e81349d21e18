import type { RedisClient } from "../../stores/redis/mod.ts";

/** How the clients voted. */
export interface ExecutionStats {
  /** How many clients there are. */
  readonly membershipSize: number;
  /** How many of them make a majority. */
  readonly quorumSize: number;
  /** The clients that are not known to have failed. */
  readonly votesFor: Set<RedisClient>;
  /** The others, and how they failed. A lock that was busy was refused by a majority: then all are listed. */
  readonly votesAgainst: Map<RedisClient, Error>;
}

/** What a call that was executed resolves to. */
export interface ExecutionResult {
  /** One entry: a call that waits does not repeat itself. */
  readonly attempts: readonly Promise<ExecutionStats>[];
}

/** The reason why a client did not grant the lock: another holder has it. */
export class ResourceLockedError extends Error {
  /** The name of the class. */
  override readonly name = "ResourceLockedError";
}

/** The call failed. `cause` is the error of `@holdfast/lock`, which says why. */
export class ExecutionError extends Error {
  /** The name of the class. */
  override readonly name = "ExecutionError";
  /** How the clients voted; empty when none was asked. */
  readonly attempts: readonly Promise<ExecutionStats>[];

  /** Makes the error. */
  constructor(message: string, attempts: readonly Promise<ExecutionStats>[], options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}
