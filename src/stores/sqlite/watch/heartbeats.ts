import type { Clock } from "../../../time/clock.ts";
import { handleOf } from "../../../contract/store.ts";
import type { LockFile } from "../file/file.ts";
import { HEARTBEAT_MS, Liveness } from "./liveness.ts";
import type { LockView } from "../tables/lock_state.ts";
import type { Statements } from "../tables/statements.ts";
import { enqueue } from "../tables/transitions.ts";
import type { LocalWaiters } from "./local_waiters.ts";

/** After how many heartbeats (2 s) without sleeping or asking a waiter leaves the queue. */
const IDLE_LIMIT = 8;

/**
 * Writes the heartbeats of a client, which is a store object with its waiters. With each heartbeat waiters that have
 * stopped attempting leave the queue. If the file has lost the client, all its waiters get their places back.
 */
export class Heartbeats {
  readonly #file: LockFile;
  readonly #waiters: LocalWaiters;
  readonly #clock: Clock;
  readonly #liveness = new Liveness();
  /** The id of the client in the file. */
  readonly #client = Number(crypto.getRandomValues(new BigUint64Array(1))[0]! >> 11n);
  #writing = false;

  constructor(file: LockFile, waiters: LocalWaiters, clock: Clock) {
    this.#file = file;
    this.#waiters = waiters;
    this.#clock = clock;
  }

  /** Returns this client's view of the others at a moment of the wall clock. */
  view(now: number): LockView {
    return { client: this.#client, now, deadAfter: this.#liveness.deadAfter(this.#clock.now()) };
  }

  /** Starts the heartbeats for the first waiter. The write that put it into the queue was the first heartbeat. */
  start(): void {
    if (this.#liveness.lastHeartbeat === undefined) this.#liveness.heartbeat(this.#clock.now());
  }

  /** Stops the heartbeats after the last waiter. */
  stop(): void {
    this.#liveness.end();
  }

  /** Deletes the client and its waiters from the file. */
  deleteClient(run: Statements): void {
    run.dequeueClient.run(this.#client);
    run.deleteClient.run(this.#client);
  }

  writeIfDue(): void {
    const { lastHeartbeat: last } = this.#liveness;
    if (this.#writing || last !== undefined && this.#clock.now().monotonic - last.monotonic < HEARTBEAT_MS) return;
    this.#writing = true;
    // If it fails, the next one may succeed. Until then this client does not judge others.
    this.#write().catch(() => {}).finally(() => this.#writing = false);
  }

  async #write(): Promise<void> {
    const idle = this.#waiters.idle(IDLE_LIMIT);
    const { gone, known, writtenAt } = await this.#file.write((run, now) => {
      // Not those that have asked since.
      const gone = idle.filter(({ idleHeartbeats, wake }) => idleHeartbeats > 0 && wake === undefined);
      for (const { ticket } of gone) run.dequeue.run(ticket);
      const known = Number(run.heartbeat.run(now, this.#client).changes) > 0;
      return { gone, known, writtenAt: this.#clock.now() };
    });
    // A run may have taken it in the same transaction.
    for (const waiter of gone) if (waiter.state === "queued") waiter.state = "idle";
    // The last waiter may have left meanwhile.
    if (this.#liveness.lastHeartbeat === undefined) return;
    this.#liveness.heartbeat(writtenAt);
    if (!known) this.#restoreWaiters();
  }

  /** Gives all waiters their places back: this client wrote nothing for so long that others have deleted it. */
  #restoreWaiters(): void {
    for (const waiter of this.#waiters.all) {
      const { claim } = waiter;
      this.#file.write((run, now) => {
        const waits = waiter.state === "queued" && !waiter.releasing && this.#waiters.get(claim) === waiter;
        // It may have been granted in the same transaction.
        const granted = run.expiry.get(claim.name, handleOf(claim)) !== undefined;
        if (waits && !granted) enqueue(run, claim, waiter, this.view(now));
        // If it fails, the next attempt of the waiter brings its ticket.
      }).catch(() => {});
    }
  }
}
