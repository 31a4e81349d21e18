import type { History, Write } from "./history.ts";
import type { Violation } from "./violation.ts";

/** Returns the writes that were accepted after one with a larger fence. */
export function staleWritesAreRefused(writes: readonly Write[]): Violation[] {
  const highest = new Map<string, Write>();
  return writes.filter(({ accepted }) => accepted).flatMap((write) => {
    const { lock, at } = write;
    const before = highest.get(lock);
    if (before === undefined || before.fence <= write.fence) highest.set(lock, write);
    else return [{ rule: "stale writes are refused", lock, at, entries: [before, write] }];
    return [];
  });
}

/** Returns the writes that were accepted although they do not raise by one what was accepted before them. */
export function noUpdateIsLost(writes: readonly Write[]): Violation[] {
  const last = new Map<string, Write>();
  return writes.filter(({ accepted }) => accepted).flatMap((write) => {
    const { lock, at } = write;
    const before = last.get(lock);
    last.set(lock, write);
    if (write.value === (before?.value ?? 0) + 1) return [];
    return [{ rule: "no update is lost", lock, at, entries: before === undefined ? [write] : [before, write] }];
  });
}

/** Returns the writes with a fence that nobody was granted. */
export function fencesAreGranted({ grants, writes }: History): Violation[] {
  const granted = new Set(grants.map(({ lock, fence }) => `${fence} ${lock}`));
  return writes.filter(({ lock, fence }) => !granted.has(`${fence} ${lock}`)).map((write) => {
    return { rule: "fences are granted", lock: write.lock, at: write.at, entries: [write] };
  });
}
