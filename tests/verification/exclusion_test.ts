// Deno only: it tests what checkers use, of which the runtime is no part.
import { assertEquals } from "@std/assert";
import { excluded, fenceOrder, type Holder, holds, mayShare } from "./exclusion.ts";

Deno.test("mayShare() is true for one owner, and for one kind that is not exclusive", () => {
  const holders: Holder[] = [{}, { owner: "me" }, { kind: "shared" }, { kind: 2 }, { kind: 3, owner: "me" }];
  const table = holders.map((one) => holders.map((other) => Number(mayShare(one, other))).join(""));
  assertEquals(table, ["00000", "01001", "00100", "00010", "01001"]);
});

Deno.test("excluded() returns those that must not share, and all when permits are too few", () => {
  const [mine, again, other] = [{ kind: 2, owner: "me" }, { kind: 2, owner: "me" }, { kind: 2 }];
  assertEquals([excluded(other, [mine, again]), excluded({ kind: 2 }, [mine, other])], [[], [mine, other]]);
  assertEquals(excluded<Holder>({ kind: "shared" }, [other, { kind: "shared" }]), [other]);
});

Deno.test("holds() is true from the grant until the moment before the end", () => {
  assertEquals([4, 5, 8, 9].map((at) => holds({ start: 5, until: 9 }, at)), [false, true, true, false]);
});

Deno.test("fenceOrder() compares a fence, or a block of them, with those before", () => {
  const order = (fence: bigint, last = fence) => fenceOrder({ fence: 5n, last: 7n }, { fence, last });
  assertEquals([order(3n, 4n), order(3n, 5n), order(7n, 9n), order(8n)], ["falls", "repeats", "repeats", "rises"]);
});
