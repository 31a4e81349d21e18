import { assertEquals } from "@std/assert";
import type { HolderEntry, WaiterEntry } from "@holdfast/lock";
import {
  groupByLock,
  isContended,
  type ListedLock,
  type LockOrder,
  sortLocks,
  totalsOf,
  waitingSince,
} from "../../src/listing/locks.ts";

function entry(name: string, handle: string, since?: number) {
  return { name, owner: handle, handle, mode: "exclusive" as const, since };
}

/** A lock that is held, with a waiter for each of these moments. */
function lock(name: string, ...waits: (number | undefined)[]): ListedLock {
  const pending = waits.map((since, rank): WaiterEntry => ({ ...entry(name, `${name}/${rank}`, since), rank }));
  return { name, held: [entry(name, name)], pending };
}

Deno.test("groupByLock() collects the handles of each lock that is wanted, in their order", () => {
  const held: HolderEntry[] = [entry("a", "1"), entry("b", "2"), entry("x", "3")];
  const pending: WaiterEntry[] = [{ ...entry("c", "4"), rank: 0 }, { ...entry("a", "5"), rank: 0 }, {
    ...entry("a", "6"),
    rank: 1,
  }];
  const locks = groupByLock({ held, pending }, (name) => name !== "x");
  const handles = locks.map(({ name, held, pending }) => [
    name,
    ...[held, pending].map((entries) => entries.map(({ handle }) => handle).join(" ")),
  ]);
  assertEquals(handles, [["a", "1", "5 6"], ["b", "2", ""], ["c", "", "4"]]);
});

Deno.test("waitingSince() returns the earliest beginning that is known", () => {
  assertEquals(
    [lock("a"), lock("a", undefined), lock("a", 7), lock("a", undefined, 7, 5, 6)].map(waitingSince),
    [undefined, undefined, 7, 5],
  );
  assertEquals([lock("a"), lock("a", undefined)].map(isContended), [false, true]);
});

Deno.test("waitingSince() returns it of more waiters than a call takes arguments", () => {
  const waits = Array.from({ length: 300_000 }, (_, i) => i + 1);
  assertEquals(
    waitingSince({ ...lock("a"), pending: waits.map((since, rank) => ({ ...entry("a", "w", since), rank })) }),
    1,
  );
});

Deno.test("sortLocks() puts the longest wait first, then unknown waits, then the others", () => {
  const locks = [
    lock("d"),
    lock("c", undefined),
    lock("e", 5),
    lock("b"),
    lock("g", 3),
    lock("f", 5),
    lock("a", undefined),
  ];
  const sorted = (order: LockOrder) => sortLocks(locks, order).map(({ name }) => name).join("");
  assertEquals(sorted("wait"), "gefacbd");
  assertEquals(sorted("name"), "abcdefg");
  assertEquals(locks[0]?.name, "d", "what was given stays as it is");
});

Deno.test("totalsOf() counts locks that are held, handles that wait, contended locks", () => {
  const reserved = { ...lock("c", 1), held: [] };
  assertEquals(totalsOf([lock("a"), lock("b", 1, 2), reserved]), { held: 2, waiting: 3, contended: 2 });
  assertEquals(totalsOf([]), { held: 0, waiting: 0, contended: 0 });
});
