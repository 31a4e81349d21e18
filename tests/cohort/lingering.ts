/**
 * A process that lingers with a lock in a file: `lingering.ts PATH end|exit|stay`. It writes a line once it has
 * shortened the lease in the store. Then it exits at once, goes on to its natural end, or lingers for long.
 */
import { acquire, type Claim, type Renewal, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { sqlite } from "@holdfast/lock/sqlite";

const [path = "", how = ""] = Deno.args;
const file = sqlite(path);
const store: Store = {
  attempt: (claim, options) => file.attempt(claim, options),
  renew: async (claim: Claim): Promise<Renewal> => {
    const renewal = await file.renew(claim);
    console.log("shortened");
    if (how === "exit") Deno.exit();
    return renewal;
  },
  release: (claim) => file.release(claim),
  drift: (lease) => file.drift(lease),
};
const linger = how === "end" ? 200 : 3_000;
const lock = await acquire(cohort(store, { keep: 60_000, linger }), "a", { lease: 180_000 });
await lock.release();
