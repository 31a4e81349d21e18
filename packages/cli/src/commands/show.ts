import { showDuration } from "../display/duration.ts";
import { modeName, placeName } from "../display/entries.ts";
import type { HolderEntry, Meta, WaiterEntry } from "@holdfast/lock";
import { isoTime, SystemClock } from "../time/clock.ts";
import type { Invocation, Terminal, Verb } from "../command.ts";
import { STATUS } from "../failure.ts";
import { holderName, type ListedLock, lockOf, patternHint, placeOf, warnIfPartial } from "../locks/listing.ts";
import { showAge } from "../locks/lock_rows.ts";
import { oneName } from "../arguments/one_name.ts";
import { json, shown } from "../terminal/shown.ts";
import { cut, table } from "../terminal/table.ts";
import { paint } from "../terminal/terminal.ts";

/** Shows one lock with its holders and waiters. */
export const show: Verb = {
  name: "show",
  summary: "Show who holds a lock, and who waits for it",
  usage: "NAME [options]",
  options: {},
  examples: [
    { line: "holdfast show invoice:42", what: "holders with fence, lease and description; the queue with its ages" },
    { line: "holdfast show invoice:42 --json", what: "the same as a JSON document" },
  ],
  statuses: { [STATUS.failed]: "nobody holds the lock, and nobody waits for it" },
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal } = invocation;
  const name = oneName("show", invocation);
  const opened = await invocation.store({ existing: true });
  await warnIfPartial(opened, invocation);
  const lock = await lockOf(opened, name, signal);
  const unused = lock.held.length === 0 && lock.pending.length === 0;
  if (terminal.json) terminal.out(json(lock));
  else if (unused) {
    terminal.out(`${paint(terminal, "bold", shown(name))}: nobody holds it, nobody waits for it${placeOf(opened)}`);
    for (const hint of patternHint(name)) terminal.err(`holdfast: ${hint}`);
  } else for (const line of describe(lock, terminal, new SystemClock().now().wall)) terminal.out(line);
  return unused ? STATUS.failed : STATUS.ok;
}

function describe({ name, held, pending }: ListedLock, terminal: Terminal, now: number): string[] {
  const title = paint(terminal, "bold", shown(name));
  const columns = terminal.size?.()?.columns ?? Infinity;
  const waiters = pending.length === 0 ? "nobody waits" : `${pending.length} waiting`;
  const holders = held.length === 0 ? "nobody holds it yet" : `held by ${held.map(holderName).join(", ")}`;
  return [
    `${title}: ${holders}; ${waiters}`,
    ...held.flatMap((holder) => ["", ...describeHolder(holder, now)]),
    ...pending.length === 0 ? [] : ["", ...queue(pending, now).map((line) => cut(line, columns))],
  ];
}

function describeHolder(holder: HolderEntry, now: number): string[] {
  const { since, expiresIn, fence, owner, handle, meta } = holder;
  const at = since === undefined ? "-" : `${isoTime(since)} (${showAge(since, now)} ago)`;
  const lines: [string, string][] = [
    ["holder", holderName(holder)],
    ["mode", modeName(holder)],
    ["since", at],
    ["expires", expiresIn === undefined ? "-" : `in ${showDuration(expiresIn)}, unless it is renewed`],
    ["fence", fence === undefined ? "-" : `${fence}`],
    ["owner", shown(owner)],
    ...handle === owner ? [] : [["handle", shown(handle)] as [string, string]],
    ["meta", showMeta(meta)],
  ];
  return table(lines);
}

function queue(pending: readonly WaiterEntry[], now: number): string[] {
  const rows = pending.map((waiter) => {
    const { rank, since, handle, meta } = waiter;
    return [`${rank}`, holderName(waiter), placeName(waiter), showAge(since, now), shown(handle), showMeta(meta)];
  });
  return table([["RANK", "WAITER", "MODE", "WAITING", "HANDLE", "META"], ...rows]);
}

function showMeta(meta: Meta | undefined): string {
  return meta === undefined
    ? "-"
    : Object.entries(meta).map(([key, value]) => `${shown(key)}=${shown(value)}`).join(" ");
}
