import type { LockView } from "./lock_state.ts";
import { type Statements, SWEEP_LIMIT } from "./statements.ts";

/** How many writes there are between two sweeps, unless there is much to delete. */
const WRITES = 16;

/** Deletes expired holders and dead clients a few at a time, also under names that are no longer used. */
export class Sweeper {
  /** How many writes there are until the next sweep. */
  #pause = 0;

  /** Sweeps a bounded number of rows if a sweep is due. Called in the transaction of another write. */
  sweep(run: Statements, { now, deadAfter }: LockView): void {
    if (this.#pause-- > 0) return;
    run.advanceSweep.run();
    const holders = Number(run.deleteSwept.run(now).changes);
    // A holder that still trusts its lease, because the clock was wrong, notices it by this.
    if (holders > 0) run.countRevocation.run();
    // A client that cannot judge others deletes none: after the machine was asleep all heartbeats are old.
    const client = deadAfter === Infinity ? undefined : run.findForgotten.get(now)?.["id"];
    const waiters = client === undefined ? 0 : Number(run.dequeueForgotten.run(client).changes);
    if (client !== undefined && waiters < SWEEP_LIMIT) run.deleteClient.run(client);
    this.#pause = client !== undefined || holders > 0 ? 0 : WRITES;
  }
}
