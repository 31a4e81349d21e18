import { assert, assertThrows } from "@std/assert";
import { memory } from "@holdfast/lock/memory";
import { storeSuite } from "@holdfast/lock/testing";
import { SystemClock } from "../../src/_clock.ts";
import { MemoryStore } from "../../src/stores/_memory_store.ts";
import { VirtualClock } from "../virtual_clock.ts";

storeSuite({
  test: (name, run) => Deno.test(`memory: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal"],
  open: () => {
    const store = new MemoryStore(undefined, new SystemClock());
    return { connect: () => store, leftovers: () => store.names, close: () => {} };
  },
});

Deno.test("memory() refuses what it does not know", () => {
  assertThrows(() => memory({ prefix: "a" } as never), TypeError, '"prefix"');
  assertThrows(() => memory({ observer: "a" } as never), TypeError, "observer");
});

Deno.test("MemoryStore gives a name fences that rise when it has forgotten the last one and its clock was set back", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const fence = async (name: string) => {
    const claim = { name, owner: crypto.randomUUID(), mode: "exclusive", lease: 1_000 } as const;
    const attempt = await store.attempt(claim, { enqueue: false });
    await store.release(claim);
    assert(attempt.granted);
    return attempt.fence;
  };
  const names = Array.from({ length: 5_000 }, (_, i) => `job ${i}`);
  const last = new Map<string, bigint>();
  for (const name of names) last.set(name, await fence(name));
  for (const back of [0, 60_000]) {
    clock.setWall(-back);
    for (const name of names) {
      const next = await fence(name);
      assert(next > last.get(name)!, `${next} follows ${last.get(name)}`);
      last.set(name, next);
    }
  }
});

Deno.test("MemoryStore forgets names that were never released, and keeps those that are held", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const take = async (name: string, lease: number) => {
    const claim = { name, owner: crypto.randomUUID(), mode: "exclusive", lease } as const;
    const attempt = await store.attempt(claim, { enqueue: false });
    assert(attempt.granted);
  };
  await take("kept", 60_000);
  for (let i = 0; i < 10_000; i++) {
    await take(`once ${i}`, 10);
    clock.stall(1);
  }
  assert(store.names.length < 2_500, `${store.names.length} names`);
  assert(store.names.includes("kept"));
});

Deno.test("MemoryStore counts the fences of each name by itself", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const vote = async (name: string, guess: bigint) => {
    const claim = { name, owner: crypto.randomUUID(), mode: "exclusive", lease: 1_000 } as const;
    const vote = await store.vote(claim, { enqueue: false, guess, maxClockSkew: 0 });
    await store.release(claim);
    return vote.granted && vote.raised;
  };
  assert(await vote("a", 7n));
  assert(await vote("b", 3n), "another name");
  assert(!await vote("a", 7n));
});
