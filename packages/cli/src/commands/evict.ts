import type { HolderEntry } from "@holdfast/lock";
import { monotonicMs, SystemClock } from "../time/clock.ts";
import { type Invocation, UsageError, type Verb } from "../command.ts";
import { STATUS } from "../failure.ts";
import { named, result, take } from "../locks/eviction.ts";
import { holderName, lockOf } from "../locks/listing.ts";
import { showAge } from "../locks/lock_rows.ts";
import { oneName } from "../arguments/one_name.ts";
import type { OpenedStore } from "../schemes/scheme.ts";
import { evictMatching } from "./evict_matching.ts";
import { json, shown } from "../terminal/shown.ts";
import { wrap } from "../terminal/table.ts";

/** The effect of an eviction, and its limits. */
const MEANING =
  "A holder is not stopped by that: it learns of the loss at once if it watches lock.signal, else at its next " +
  "renewal, and works on until then. Only a resource that checks the fence refuses it.";

/** The exit status when somebody holds the lock, but with another fence than `--fence`. */
const OTHER_FENCE = 3;

/** For how long to look for the next holder, in milliseconds, and how often. */
const NEXT_MS = 1_000;
const LOOK_MS = 50;

/** Takes a lock away from its holders. */
export const evict: Verb = {
  name: "evict",
  summary: "Take a lock away from its holders",
  usage: "NAME | --match PATTERN [options]",
  options: {
    yes: { type: "boolean", short: "y", help: "do not ask; needed where nobody can be asked, and with --match" },
    match: { type: "string", value: "PATTERN", help: "all locks whose names match; without --yes it only lists them" },
    fence: { type: "string", value: "N", help: "only from holders with this fence, as show tells it" },
  },
  examples: [
    { line: "holdfast evict invoice:42", what: "says who holds it, and asks; takes it from nobody else" },
    { line: "holdfast evict invoice:42 --yes", what: "asks nobody" },
    {
      line: `holdfast evict invoice:42 --yes --fence "$FENCE"`,
      what: "only from the holder that a script has looked at",
    },
    { line: "holdfast evict --match 'import:*'", what: "lists what it would take away, and takes nothing" },
    { line: "holdfast evict --match 'import:*' --yes", what: "takes all of these away, each from who holds it then" },
  ],
  statuses: {
    [STATUS.ok]: "nobody of those who held the lock holds it now; with --match alone: it was listed",
    [STATUS.failed]: "the answer was no",
    [OTHER_FENCE]: "the lock is held, with another fence than that of --fence: nothing was taken away",
  },
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal, options } = invocation;
  if (options["match"] !== undefined) return await evictMatching(invocation);
  const name = oneName("evict", invocation);
  const fence = fenceOf(options["fence"]);
  const asks = options["yes"] !== true;
  if (asks && terminal.ask === undefined) {
    throw new UsageError("nobody can be asked here: give --yes to take the lock away without a question");
  }
  const opened = await invocation.store({ existing: true });
  const { store, label } = opened;
  if (store.evict === undefined) throw new UsageError(`${label} cannot take locks away: wait until their leases end`);
  const meaning = wrap(MEANING, terminal.size?.()?.columns ?? Infinity).join("\n");
  // A store that cannot list can still take away.
  const lock = store.query === undefined ? undefined : await lockOf(opened, name, signal);
  const held = lock?.held ?? [];
  const holders = lock && held.filter((holder) => fence === undefined || holder.fence === fence);
  if (fence !== undefined && holders?.length === 0 && held.length > 0) {
    terminal.err(
      `holdfast: ${shown(name)} is held by ${named(held)}, by nobody with fence ${fence}: nothing was taken away`,
    );
    if (terminal.json) terminal.out(json({ name, evicted: 0, lost: [] }));
    return OTHER_FENCE;
  }
  if (asks && holders?.length !== 0) {
    terminal.err(
      holders === undefined
        ? `${label} cannot say who holds ${shown(name)}`
        : describe(name, holders, lock?.pending.length ?? 0),
    );
    terminal.err(meaning);
    const answer = await terminal.ask?.(`Take ${shown(name)} away? [y/N] `) ?? "";
    if (!/^y(es)?$/i.test(answer.trim())) {
      terminal.err("holdfast: nothing was done");
      return STATUS.failed;
    }
  }
  const outcome = await take(opened, name, holders, fence, signal);
  const { evicted, lost } = outcome;
  if (terminal.json) terminal.out(json({ name, evicted, lost }));
  else {
    for (const line of result(opened, name, outcome, fence)) terminal.out(line);
    if (holders?.length === 0 && name.includes("*")) {
      const how = `holdfast evict --match '${shown(name)}' lists what matches`;
      terminal.err(`holdfast: in a name * is a character like any other: ${how}`);
    }
    if (evicted > 0 && !asks) terminal.out(meaning);
    const next = evicted > 0 && lost !== undefined ? await nextHolder(opened, name, signal) : "";
    if (next !== "") terminal.out(next);
  }
  return STATUS.ok;
}

function fenceOf(text: string | boolean | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  if (typeof text !== "string" || !/^\d{1,19}$/.test(text)) {
    throw new UsageError(`--fence must be a number, as show tells it: got ${shown(String(text))}`);
  }
  return BigInt(text);
}

function describe(name: string, held: readonly HolderEntry[], waiting: number): string {
  const now = new SystemClock().now().wall;
  const holders = held.map((holder) => {
    return holderName(holder) + (holder.since === undefined ? "" : ` (for ${showAge(holder.since, now)})`);
  });
  return `${shown(name)} is held by ${holders.join(", ")}; ${waiting} waiting`;
}

/**
 * Says who holds the lock now, once the next waiter has attempted again. Says nothing if the store fails: the lock is
 * evicted anyway.
 */
async function nextHolder(opened: OpenedStore, name: string, signal: AbortSignal): Promise<string> {
  const clock = new SystemClock();
  const began = clock.now();
  for (;;) {
    // It is no more than a help: the lock is evicted.
    const lock = await lockOf(opened, name, signal).catch(() => undefined);
    signal.throwIfAborted();
    if (lock === undefined) return "";
    const { held, pending } = lock;
    if (held.length > 0) return `${held.map(holderName).join(", ")} holds it now; ${pending.length} waiting.`;
    if (pending.length === 0) return "Nobody holds it now, and nobody waits for it.";
    if (monotonicMs(began, clock.now()) >= NEXT_MS) {
      return `Nobody holds it yet; ${pending.length} waiting. The first one is granted it when it attempts again.`;
    }
    await clock.sleep(LOOK_MS, signal);
  }
}
