import { SystemClock } from "../time/clock.ts";
import { isContended, LOCK_ORDERS, type LockOrder, sortLocks, totalsOf } from "../listing/locks.ts";
import { readPages } from "../listing/pages.ts";
import { type Invocation, UsageError, type Verb } from "../command.ts";
import { STATUS } from "../failure.ts";
import { listLocks, placeOf, wanted, warnIfPartial } from "../locks/listing.ts";
import { lockRows, showTotals } from "../locks/lock_rows.ts";
import { json, shown } from "../terminal/shown.ts";
import { cut, table } from "../terminal/table.ts";
import { paint } from "../terminal/terminal.ts";

/** How many locks are read when all must be known before the first is written. */
const MOST_LOCKS = 100_000;

/** Lists locks. */
export const ls: Verb = {
  name: "ls",
  summary: "List the locks that are held or waited for",
  usage: "[PATTERN] [options]",
  options: {
    contended: { type: "boolean", help: "only locks that somebody waits for" },
    sort: {
      type: "string",
      value: "ORDER",
      values: LOCK_ORDERS,
      help: "name (the default), or wait: the longest wait first",
    },
  },
  examples: [
    { line: "holdfast ls", what: "all locks of the store" },
    { line: "holdfast ls 'invoice:*'", what: "those whose names match; * stands for any text" },
    { line: "holdfast ls --sort wait --contended", what: "what is stuck: the longest wait first" },
    { line: "holdfast ls --json | jq -r 'select(.held | length > 9).name'", what: "those with ten holders or more" },
  ],
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, rest, options, terminal, signal } = invocation;
  const [pattern, ...further] = [...args, ...rest];
  if (further.length > 0) throw new UsageError(`ls takes one pattern: holdfast ls '${pattern}'`);
  const isListed = options["contended"] === true ? isContended : () => true;
  const opened = await invocation.store({ existing: true });
  await warnIfPartial(opened, invocation);
  const pages = listLocks(opened, wanted(pattern), signal);
  if (terminal.json && options["sort"] === undefined) {
    for await (const { locks } of pages) {
      for (const lock of locks.filter(isListed)) terminal.out(json(lock));
    }
    return STATUS.ok;
  }
  const { locks, cursor } = await readPages(pages, (count) => count >= MOST_LOCKS);
  const listed = sortLocks(locks.filter(isListed), (options["sort"] ?? "name") as LockOrder);
  if (cursor !== undefined) {
    terminal.err(`holdfast: there are more locks than the first ${locks.length}, which were read: give a pattern`);
  }
  if (terminal.json) {
    for (const lock of listed) terminal.out(json(lock));
  } else if (locks.length === 0) {
    const matching = pattern === undefined
      ? ""
      : ` whose name ${pattern.includes("*") ? "matches" : "is"} ${shown(pattern)}`;
    terminal.err(`holdfast: no lock${matching} is held or waited for${placeOf(opened)}`);
  } else {
    // Not for cron, which mails the standard error.
    if (terminal.attended) terminal.err(`holdfast: ${showTotals(totalsOf(locks))}`);
    const columns = terminal.size?.()?.columns ?? Infinity;
    const [head = "", ...lines] = table(lockRows(listed, new SystemClock().now().wall)).map((line) =>
      cut(line, columns)
    );
    if (lines.length === 0) return STATUS.ok;
    terminal.out(paint(terminal, "bold", head));
    terminal.out(lines.join("\n"));
  }
  return STATUS.ok;
}
