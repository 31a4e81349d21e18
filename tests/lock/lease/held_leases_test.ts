import { assertEquals } from "@std/assert";
import { type HeldLease, HeldLeases } from "../../../src/lock/lease/held_leases.ts";
import { claimOf } from "../../../packages/testing/src/expect.ts";
import { settled } from "../../support/virtual_clock.ts";

function leases(...names: string[]): { all: HeldLease[]; renewed: string[] } {
  const renewed: string[] = [];
  const all = names.map((name): HeldLease => ({
    claim: claimOf(name, 1_000),
    held: true,
    renew: () => {
      renewed.push(name);
      queueMicrotask(() => renewed.push("microtask"));
    },
  }));
  return { all, renewed };
}

Deno.test("HeldLeases renews in one step what is due together, in its order", async () => {
  const { all, renewed } = leases("a", "b", "c");
  const held = new HeldLeases();
  for (const lease of all) held.add(lease);
  held.renew(all[0]!);
  await settled();
  renewed.length = 0;
  for (const lease of [...all].reverse()) held.renew(lease);
  await settled();
  assertEquals(renewed, ["c", "b", "a", "microtask", "microtask", "microtask"]);
  for (const lease of all) held.delete(lease);
});

Deno.test("HeldLeases renews again after the last lease has ended", async () => {
  const { all, renewed } = leases("a", "b");
  const held = new HeldLeases();
  for (const lease of all) {
    held.add(lease);
    for (let times = 0; times < 2; times++) {
      held.renew(lease);
      await settled();
    }
    held.delete(lease);
    await settled();
  }
  assertEquals(renewed.filter((what) => what !== "microtask"), ["a", "a", "b", "b"]);
  assertEquals([...held], []);
});
