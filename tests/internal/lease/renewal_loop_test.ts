import { assertEquals } from "@std/assert";
import { type HeldLease, HeldLeases } from "../../../src/internal/lease/held_leases.ts";
import { RenewalLoop } from "../../../src/internal/lease/renewal_loop.ts";
import { claimOf } from "../../../src/testing/expect.ts";
import { settled } from "../../support/virtual_clock.ts";

function leases(...names: string[]): { all: HeldLease[]; renewed: string[] } {
  const renewed: string[] = [];
  const all = names.map((name): HeldLease => ({
    claim: claimOf(name, 1_000),
    held: true,
    renew: () => {
      renewed.push(name);
      return new Promise(() => {});
    },
  }));
  return { all, renewed };
}

Deno.test("RenewalLoop renews what is due in its order, and waits for no answer", async () => {
  const { all: [a, b, c], renewed } = leases("a", "b", "c");
  const loop = new RenewalLoop();
  loop.add(a!);
  loop.add(b!);
  await settled();
  assertEquals(renewed, ["a", "b"]);
  loop.add(c!);
  loop.add(a!);
  await settled();
  assertEquals(renewed, ["a", "b", "c", "a"]);
  loop.end();
});

Deno.test("RenewalLoop renews in one step what is due together", async () => {
  const { all, renewed } = leases("a", "b", "c");
  const loop = new RenewalLoop();
  await settled();
  const noted = all.map((lease) => ({
    renew: () => {
      queueMicrotask(() => renewed.push("microtask"));
      return lease.renew();
    },
  }));
  for (const lease of noted) loop.add(lease);
  await settled();
  assertEquals(renewed.slice(0, 3), ["a", "b", "c"]);
  loop.end();
});

Deno.test("RenewalLoop renews nothing after its end", async () => {
  const { all: [a], renewed } = leases("a");
  const loop = new RenewalLoop();
  await settled();
  loop.end();
  loop.add(a!);
  await settled();
  assertEquals(renewed, []);
});

Deno.test("HeldLeases renews again after the last lease has ended", async () => {
  const { all: [a, b], renewed } = leases("a", "b");
  const held = new HeldLeases();
  for (const lease of [a!, b!]) {
    held.add(lease);
    held.renew(lease);
    await settled();
    held.delete(lease);
    await settled();
  }
  assertEquals(renewed, ["a", "b"]);
  assertEquals([...held], []);
});
