import { counted } from "../../internal/display/counted.ts";
import { elapsed, SystemClock } from "../../internal/time/clock.ts";
import { isMeant } from "../../internal/listing/eviction.ts";
import type { EvictOptions, HolderEntry } from "../../store.ts";
import { answerOf } from "../terminal/answer.ts";
import { type Invocation, UsageError, type Verb } from "../command.ts";
import { STATUS } from "../failure.ts";
import { holderName, lockOf, patternHint, placeOf } from "../locks/listing.ts";
import { showAge } from "../locks/lock_rows.ts";
import { oneName } from "../arguments/one_name.ts";
import type { OpenedStore } from "../schemes/scheme.ts";
import { json, shown } from "../terminal/shown.ts";
import { wrap } from "../terminal/table.ts";

/** What an eviction does not do. */
const MEANING =
  "A holder is not stopped by that: it learns of the loss at once if it watches lock.signal, else at its next " +
  "renewal, and works on until then. Only a resource that checks the fence refuses it.";

/** What tells the former holder who it was, beside host and process. */
const META = { command: "holdfast evict" };

/** For how long to look for the next holder, in milliseconds, and how often. */
const NEXT_MS = 1_000;
const LOOK_MS = 50;

/** Takes a lock away from its holders. */
export const evict: Verb = {
  name: "evict",
  summary: "Take a lock away from its holders",
  usage: "NAME [options]",
  options: {
    yes: { type: "boolean", short: "y", help: "do not ask; needed where nobody can be asked" },
    fence: { type: "string", value: "N", help: "only from holders with this fence, as show tells it" },
  },
  examples: [
    { line: "holdfast evict invoice:42", what: "says who holds it, and asks; takes it from nobody else" },
    { line: "holdfast evict invoice:42 --yes", what: "asks nobody" },
    {
      line: `holdfast evict invoice:42 --yes --fence "$FENCE"`,
      what: "only from the holder that a script has looked at",
    },
  ],
  statuses: { [STATUS.ok]: "nobody of those who held the lock holds it now", [STATUS.failed]: "the answer was no" },
  run,
};

/** What was done. */
interface Outcome {
  readonly evicted: number;
  /** Those who have lost the lock, and those who had no lock to lose any more; `undefined` where nobody can be listed. */
  readonly lost?: readonly HolderEntry[];
  readonly gone?: readonly HolderEntry[];
}

async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal, options } = invocation;
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
  const holders = lock?.held.filter((holder) => isMeant({ fence }, holder));
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
    const hints = holders?.length === 0 ? patternHint(name) : [];
    for (const hint of hints) terminal.err(`holdfast: ${hint}`);
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

/** Takes the lock from these holders, each by its handle; from all where they are not known. */
async function take(
  opened: OpenedStore,
  name: string,
  holders: readonly HolderEntry[] | undefined,
  fence: bigint | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const one = async (named: EvictOptions) => {
    return await answerOf(opened, Promise.resolve(opened.store.evict!(name, { ...named, meta: META })), signal);
  };
  if (holders === undefined) return { evicted: await one({ fence }) };
  const taken = await Promise.all(holders.map(({ handle }) => one({ handle })));
  const lost = holders.filter((_, i) => taken[i]! > 0);
  return { evicted: lost.length, lost, gone: holders.filter((_, i) => taken[i] === 0) };
}

function describe(name: string, held: readonly HolderEntry[], waiting: number): string {
  const now = new SystemClock().now().wall;
  const holders = held.map((holder) => {
    return holderName(holder) + (holder.since === undefined ? "" : ` (for ${showAge(holder.since, now)})`);
  });
  return `${shown(name)} is held by ${holders.join(", ")}; ${waiting} waiting`;
}

function result(
  opened: OpenedStore,
  name: string,
  { evicted, lost, gone = [] }: Outcome,
  fence: bigint | undefined,
): string[] {
  const who = lost?.map((holder) => {
    return holderName(holder) + (holder.fence === undefined ? "" : ` (fence ${holder.fence})`);
  }).join(", ") ?? counted(evicted, "handle");
  if (evicted === 0 && gone.length === 0) {
    return [`Nobody held ${shown(name)}${fence === undefined ? "" : ` with fence ${fence}`}${placeOf(opened)}`];
  }
  return [
    ...evicted === 0 ? [] : [`Took ${shown(name)} away from ${who}.`],
    ...gone.map((holder) => `${holderName(holder)} held ${shown(name)} no more: nothing was taken from anybody else.`),
  ];
}

/**
 * Says who holds the lock now: nothing if the store fails, as the lock is evicted anyway. The next waiter holds it only when
 * it has attempted again.
 */
async function nextHolder(opened: OpenedStore, name: string, signal: AbortSignal): Promise<string> {
  const clock = new SystemClock();
  const began = clock.now();
  for (;;) {
    const lock = await lockOf(opened, name, signal).catch(() => undefined);
    signal.throwIfAborted();
    if (lock === undefined) return "";
    const { held, pending } = lock;
    if (held.length > 0) return `${held.map(holderName).join(", ")} holds it now; ${pending.length} waiting.`;
    if (pending.length === 0) return "Nobody holds it now, and nobody waits for it.";
    if (elapsed(began, clock.now()) >= NEXT_MS) {
      return `Nobody holds it yet; ${pending.length} waiting. The first one is granted it when it attempts again.`;
    }
    await clock.sleep(LOOK_MS, signal);
  }
}
