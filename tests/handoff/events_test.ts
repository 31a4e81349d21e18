import { assertEquals } from "@std/assert";
import type { LockEvent } from "@holdfast/lock";
import { scene } from "./noted.ts";

Deno.test("Handoff notifies of each handle's own acquired and released", async () => {
  const { store, here, others, get, wait } = scene();
  const events: LockEvent[] = [];
  Object.assign(store, { observer: (event: LockEvent) => events.push(event) });
  const holder = await get(others);
  const waiting = [(await wait("0", here)).lock, (await wait("1", here)).lock, (await wait("2", here)).lock];
  events.length = 0;
  await holder.release();
  const expected = [["released", holder.owner, holder.fence]];
  for (const lock of waiting) {
    const { owner, fence } = await lock;
    await (await lock).release();
    expected.push(["acquired", owner, fence], ["released", owner, fence]);
  }
  const seen = events.map((event) => [event.type, event.owner, "fence" in event ? event.fence : undefined]);
  // The next one is handed the lock before the release of the one before has resolved.
  assertEquals(seen.map(String).sort(), expected.map(String).sort());
  assertEquals(events.map(({ handle }) => handle), events.map(({ owner }) => owner));
  const fences = events.flatMap((event) => event.type === "acquired" ? [event.fence] : []);
  assertEquals(fences, [0n, 1n, 2n].map((place) => fences[0]! + place));
});
