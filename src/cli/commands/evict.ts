import { SystemClock } from "../../internal/clock.ts";
import { answerOf } from "../answer.ts";
import { type Command, type Invocation, UsageError } from "../command.ts";
import { STATUS } from "../failure.ts";
import { holderName, type ListedLock, lockOf } from "../listing.ts";
import { showAge } from "../lock_rows.ts";
import { oneName } from "../one_name.ts";
import type { OpenedStore } from "../scheme.ts";
import { json, shown } from "../shown.ts";

/** What an eviction does not do. */
const MEANING =
  "A holder is not stopped by that: it learns of the loss at once if it watches lock.signal, else at its next " +
  "renewal, and works on until then. Only a resource that checks the fence refuses it.";

/** Takes a lock away from its holders. */
export const evict: Command = {
  name: "evict",
  summary: "Take a lock away from its holders",
  usage: "NAME [options]",
  options: { yes: { type: "boolean", short: "y", help: "do not ask; needed where nobody can be asked" } },
  examples: [
    { line: "holdfast evict invoice:42", what: "says who holds it, and asks" },
    { line: "holdfast evict invoice:42 --yes", what: "asks nobody" },
  ],
  statuses: { [STATUS.ok]: "nobody of those who held the lock holds it now", [STATUS.failed]: "the answer was no" },
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal, options } = invocation;
  const name = oneName("evict", invocation);
  if (options["yes"] !== true && terminal.ask === undefined) {
    throw new UsageError("nobody can be asked here: give --yes to take the lock away without a question");
  }
  const opened = await invocation.store({ existing: true });
  const { store, label } = opened;
  if (store.evict === undefined) throw new UsageError(`${label} cannot take locks away: wait until their leases end`);
  if (options["yes"] !== true && !await confirmed(opened, name, invocation)) {
    terminal.err("Nothing was done");
    return STATUS.failed;
  }
  const evicted = await answerOf(opened, Promise.resolve(store.evict(name)), signal);
  if (terminal.json) terminal.out(json({ name, evicted }));
  else terminal.out(result(name, evicted));
  return STATUS.ok;
}

/** Says who holds the lock, and resolves to whether it is to be taken away. */
async function confirmed(opened: OpenedStore, name: string, { terminal, signal }: Invocation): Promise<boolean> {
  // A store that cannot list can still take away.
  const lock = opened.store.query === undefined ? undefined : await lockOf(opened, name, signal);
  terminal.err(lock === undefined ? `${opened.label} cannot say who holds ${shown(name)}` : describe(lock));
  terminal.err(MEANING);
  const answer = await terminal.ask?.(`Take ${shown(name)} away? [y/N] `) ?? "";
  return /^y(es)?$/i.test(answer.trim());
}

function describe({ name, held, pending }: ListedLock): string {
  const now = new SystemClock().now().wall;
  const holders = held.map((holder) => {
    return holderName(holder) + (holder.since === undefined ? "" : ` (for ${showAge(holder.since, now)})`);
  });
  const whoHolds = holders.length === 0 ? "nobody" : holders.join(", ");
  return `${shown(name)} is held by ${whoHolds}; ${pending.length} waiting`;
}

function result(name: string, evicted: number): string {
  if (evicted === 0) return `Nobody held ${shown(name)}`;
  const who = evicted === 1 ? "1 handle" : `${evicted} handles`;
  return `Took ${shown(name)} away from ${who}. ${MEANING}`;
}
