import { counted } from "../display/counted.ts";
import { SystemClock } from "../time/clock.ts";
import { type Invocation, UsageError } from "../command.ts";
import { STATUS } from "../failure.ts";
import { result, take } from "../locks/eviction.ts";
import { allLocks, placeOf, warnIfPartial } from "../locks/listing.ts";
import { lockRows } from "../locks/lock_rows.ts";
import { json, shown } from "../terminal/shown.ts";
import { cut, table } from "../terminal/table.ts";

/**
 * Evicts all locks whose names match a pattern, each from its holders of that moment. Without `--yes` it only lists the
 * locks. Resolves to the exit status.
 */
export async function evictMatching(invocation: Invocation): Promise<number> {
  const { args, rest, options, terminal, signal } = invocation;
  const match = `${options["match"]}`;
  if (args.length + rest.length > 0) throw new UsageError("evict takes a name or --match PATTERN, not both");
  if (options["fence"] !== undefined) throw new UsageError("--fence is for one name: it does not go with --match");
  if (match === "") throw new UsageError("--match must not be empty: '*' matches every name");
  const opened = await invocation.store({ existing: true });
  const { store, label } = opened;
  if (store.evict === undefined) throw new UsageError(`${label} cannot take locks away: wait until their leases end`);
  await warnIfPartial(opened, invocation);
  // All locks are read before the first is taken: locks that come meanwhile are left alone.
  const locks = (await allLocks(opened, { match }, signal)).filter(({ held }) => held.length > 0);
  if (locks.length === 0) {
    terminal.err(`holdfast: no lock whose name matches ${shown(match)} is held${placeOf(opened)}`);
    return STATUS.ok;
  }
  if (options["yes"] === true) {
    for (const { name, held } of locks) {
      const outcome = await take(opened, name, held, undefined, signal);
      if (terminal.json) terminal.out(json({ name, evicted: outcome.evicted, lost: outcome.lost }));
      else for (const line of result(opened, name, outcome, undefined)) terminal.out(line);
    }
    return STATUS.ok;
  }
  if (terminal.json) {
    for (const { name, held } of locks) terminal.out(json({ name, evicted: 0, held }));
  } else {
    const columns = terminal.size?.()?.columns ?? Infinity;
    for (const line of table(lockRows(locks, new SystemClock().now().wall))) terminal.out(cut(line, columns));
  }
  terminal.err(`holdfast: nothing was taken away: with --yes, ${counted(locks.length, "lock")} would be`);
  return STATUS.ok;
}
