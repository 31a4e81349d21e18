import { assertEquals } from "@std/assert";
import type { HolderEntry, WaiterEntry } from "@holdfast/lock";
import { changesBetween } from "../../src/locks/changes.ts";
import type { ListedLock } from "../../src/locks/listing.ts";

function lock(name: string, held: string[], pending: string[] = []): ListedLock {
  const entry = (handle: string) => ({ name, owner: handle, handle, mode: "exclusive" as const });
  return {
    name,
    held: held.map((handle): HolderEntry => entry(handle)),
    pending: pending.map((handle, rank): WaiterEntry => ({ ...entry(handle), rank })),
  };
}

function between(before: ListedLock[], after: ListedLock[]): string[] {
  return changesBetween(before, after).map(({ change, entry }) => `${entry.name} ${entry.handle} ${change}`);
}

Deno.test("changesBetween() tells who holds, waits, has ended and has left", () => {
  const before = [lock("a", ["1"], ["2", "3"]), lock("b", ["4"])];
  const after = [lock("a", ["2"], ["5"]), lock("c", ["6"])];
  assertEquals(between(before, after), ["a 1 ended", "b 4 ended", "a 3 left", "a 2 holds", "c 6 holds", "a 5 waits"]);
});

Deno.test("changesBetween() tells nothing of what has not changed", () => {
  const locks = [lock("a", ["1"], ["2"])];
  assertEquals(between(locks, structuredClone(locks)), []);
});

Deno.test("changesBetween() distinguishes handles with the same id on several locks", () => {
  assertEquals(between([lock("a", ["1"])], [lock("b", ["1"])]), ["a 1 ended", "b 1 holds"]);
});
