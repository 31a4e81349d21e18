// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { memory } from "@holdfast/lock/memory";
import { claimOf, grant } from "../../support/claims.ts";
import { listView } from "./view.ts";

Deno.test("listView() tells holders from waiters, and finds neither when they are over", async () => {
  const store = memory();
  const [holder, first, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await grant(store, holder);
  for (const waiter of [first, second]) await store.attempt(waiter, { enqueue: true });
  const view = listView(store);
  const look = ({ owner }: { readonly owner: string }) => view.look("a", new Set(["another", owner]));
  assertEquals(await look(holder), { present: true, held: true, behind: false });
  assertEquals(await look(first), { present: true, held: false, behind: false });
  assertEquals(await look(second), { present: true, held: false, behind: true });
  for (const claim of [second, first, holder]) await store.release(claim);
  for (const claim of [holder, first, second]) {
    assertEquals(await look(claim), { present: false, held: false, behind: false });
  }
});

Deno.test("listView() passes over members of a run", async () => {
  const member = { name: "a", owner: "x", handle: "x", mode: "exclusive" as const, rank: 0, member: true };
  const view = listView({ query: () => Promise.resolve({ held: [], pending: [member] }) });
  assertEquals(await view.look("a", new Set(["x"])), { present: false, held: false, behind: false });
});
