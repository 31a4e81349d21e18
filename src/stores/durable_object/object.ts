import { SystemClock } from "../../time/clock.ts";
import { type LockObjectRequest, LockServer } from "./server.ts";
import type { LockObjectStorage } from "./storage.ts";

/** The part of the constructor's state that a lock object needs. */
export interface LockObjectState {
  /** The storage of the object. */
  readonly storage: LockObjectStorage;
}

/**
 * The class of Durable Objects that `durableObject()` asks: each keeps the lock of one name in its storage, and decides
 * by its clock. The Worker exports it, and its configuration names it.
 *
 * @example Export it under a name of your own
 * ```ts
 * import { LockObject } from "@holdfast/lock/durable-object";
 *
 * export class InvoiceLock extends LockObject {}
 * ```
 */
export class LockObject {
  readonly #server: LockServer;

  /** Called by the platform. */
  constructor(state: LockObjectState, _env?: unknown) {
    this.#server = new LockServer(state.storage, new SystemClock());
  }

  /** Answers a request of a store. */
  fetch(request: LockObjectRequest): Promise<Response> {
    return this.#server.fetch(request);
  }

  /** Ends leases that are over although no call comes, and deletes a lock that has not been used for 7 days. */
  alarm(): Promise<void> {
    return this.#server.alarm();
  }
}
