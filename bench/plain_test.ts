import { acquire, type LockEvent } from "@holdfast/lock";
import { assert, assertEquals } from "@std/assert";
import { SystemClock } from "../src/time/clock.ts";
import { MemoryStore } from "../src/stores/memory/store.ts";
import { plain } from "./plain.ts";

Deno.test("plain() hides what a store does for several handles, and nothing else", () => {
  const store = new MemoryStore(undefined, new SystemClock());
  const { capabilities = [] } = store;
  assert(capabilities.includes("runs") && capabilities.includes("fences"), `${capabilities}`);
  assertEquals(plain(store).capabilities, capabilities.filter((each) => each !== "runs" && each !== "fences"));
});

Deno.test("plain() has the store grant the lock to each handle by itself", async () => {
  const events: LockEvent[] = [];
  const inner = new MemoryStore((event) => void events.push(event), new SystemClock());
  const groups: (string | undefined)[] = [];
  const attempt = inner.attempt.bind(inner);
  inner.attempt = (claim, options) => {
    groups.push(claim.group);
    return attempt(claim, options);
  };
  const store = plain(inner);
  const first = await acquire(store, "plain");
  const second = acquire(store, "plain");
  assertEquals((await store.query!()).pending.length, 1);
  await first.release();
  await (await second).release();
  // The second one asks again when it is woken.
  assertEquals(groups, [undefined, undefined, undefined]);
  assertEquals(events.map(({ type }) => type), ["acquired", "waiting", "released", "acquired", "released"]);
});
