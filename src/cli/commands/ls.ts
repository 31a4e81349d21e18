import { SystemClock } from "../../internal/clock.ts";
import { type Command, type Invocation, UsageError } from "../command.ts";
import { STATUS } from "../failure.ts";
import { allLocks, listLocks, placeOf, wanted, warnIfPartial } from "../listing.ts";
import { lockRows } from "../lock_rows.ts";
import { json, shown } from "../shown.ts";
import { cut, table } from "../table.ts";
import { paint } from "../terminal.ts";

/** Lists locks. */
export const ls: Command = {
  name: "ls",
  summary: "List the locks that are held or waited for",
  usage: "[PATTERN] [options]",
  options: {},
  examples: [
    { line: "holdfast ls", what: "all locks of the store" },
    { line: "holdfast ls 'invoice:*'", what: "those whose names match; * stands for any text" },
    { line: "holdfast ls --json | jq -r 'select(.pending | length > 0).name'", what: "those that somebody waits for" },
  ],
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, rest, terminal, signal } = invocation;
  const [pattern, ...further] = [...args, ...rest];
  if (further.length > 0) throw new UsageError(`ls takes one pattern: holdfast ls '${pattern}'`);
  const opened = await invocation.store({ existing: true });
  await warnIfPartial(opened, invocation);
  if (terminal.json) {
    for await (const { locks } of listLocks(opened, wanted(pattern), signal)) {
      for (const lock of locks) terminal.out(json(lock));
    }
    return STATUS.ok;
  }
  const locks = await allLocks(opened, wanted(pattern), signal);
  if (locks.length === 0) {
    const matching = pattern === undefined
      ? ""
      : ` whose name ${pattern.includes("*") ? "matches" : "is"} ${shown(pattern)}`;
    terminal.err(`holdfast: no lock${matching} is held or waited for${placeOf(opened)}`);
    return STATUS.ok;
  }
  const columns = terminal.size?.()?.columns ?? Infinity;
  const [head = "", ...lines] = table(lockRows(locks, new SystemClock().now().wall)).map((line) => cut(line, columns));
  terminal.out(paint(terminal, "bold", head));
  if (lines.length > 0) terminal.out(lines.join("\n"));
  return STATUS.ok;
}
