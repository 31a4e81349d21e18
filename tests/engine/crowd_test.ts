import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { LockTimeoutError } from "../../src/contract/errors.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { claimOf, grant } from "../support/claims.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { NAME, Place } from "./controlled_backend.ts";
import { distant, sameRandom, storeOf } from "./distant_backend.ts";
import { Documents, memoryBackend } from "./memory_backend.ts";

/** How many stores want one lock, and how long a message to the server and back takes, in milliseconds. */
const CROWD = 100;
const TRIP = 10;

Deno.test("acquire() waits for as long as its caller does while others write first", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  backend.onWrite = () => Promise.resolve({ written: false });
  const acquire = (wait: number) => {
    return acquireFrom(store, NAME, checkAcquireOptions({ wait, lease: 100_000, renew: false }), place.clock);
  };
  const [late, granted] = [assertRejects(() => acquire(15_000), LockTimeoutError), acquire(60_000)];
  await place.clock.advance(30_000);
  await late;
  assert(backend.writes < 1_000, `${backend.writes} writes`);
  backend.onWrite = (execute) => execute();
  await place.clock.advance(10_000);
  assert((await granted)?.held);
  assertEquals([place.handles.queue, place.clock.pending], [[], 1]);
  await (await granted)?.release();
  assertEquals(place.clock.pending, 0);
});

Deno.test("attempt() answers after 5 s of refused writes, and after a minute asleep", async () => {
  for (const asleep of [0, 60_000]) {
    const place = new Place();
    const { store, backend } = place.connect();
    backend.onWrite = () => Promise.resolve({ written: false });
    const attempt = store.attempt(claimOf(NAME), { enqueue: true });
    await place.clock.advance(1_000);
    place.clock.stall(asleep);
    await place.clock.advance(asleep > 0 ? 1 : 6_000);
    assertEquals(await attempt, { granted: false, retryAfter: 0 });
    assertEquals(place.clock.pending, 0);
  }
});

Deno.test("acquire() outlives refused writes that each take almost as long as they may", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const late = async <T>(execute: () => Promise<T>) => {
    await place.clock.sleep(1_900);
    return await execute();
  };
  backend.onRead = late;
  backend.onWrite = () => late(() => Promise.resolve({ written: false }));
  const settings = checkAcquireOptions({ wait: 60_000, lease: 100_000, renew: false });
  const granted = acquireFrom(store, NAME, settings, place.clock);
  granted.catch(() => {});
  await place.clock.advance(30_000);
  backend.onWrite = late;
  await place.clock.advance(15_000);
  assert((await granted)?.held);
  await place.clock.advance(0);
  const released = (await granted)?.release();
  await place.clock.advance(10_000);
  await released;
  assertEquals(place.clock.pending, 0);
});

Deno.test("attempt() that was executed although others wrote first is found again", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const claim = claimOf(NAME);
  // The network executes the first write twice, and delivers the answer to the second time only.
  backend.onWrite = async (execute) => {
    await execute();
    return { written: false };
  };
  const first = store.attempt(claim, { enqueue: true });
  await place.clock.advance(20_000);
  const outcome = await first;
  backend.onWrite = (execute) => execute();
  const again = outcome.granted ? outcome : await store.attempt(claim, { enqueue: true });
  assert(again.granted);
  assertEquals(place.handles, { holders: [claim.owner], queue: [] });
});

Deno.test(`acquire() queues ${CROWD} stores within 5 s, and refuses none`, async () => {
  const clock = new VirtualClock();
  const documents = new Documents();
  await grant(storeOf(memoryBackend(documents), clock), claimOf(NAME));
  const random = sameRandom();
  const calls = Array.from({ length: CROWD }, () => {
    const settings = checkAcquireOptions({ wait: 8_000, meta: false });
    return acquireFrom(
      storeOf(distant(documents, { clock, random, trip: TRIP }), clock, random),
      NAME,
      settings,
      clock,
    );
  });
  const settled = Promise.allSettled(calls);
  await clock.advance(5_000);
  const { queue } = JSON.parse(documents.texts.get(NAME)!.value);
  assertEquals(queue.length, CROWD);
  await clock.advance(4_000);
  for (const call of await settled) assert(call.status === "rejected" && call.reason instanceof LockTimeoutError);
});

Deno.test(`renew() comes through while ${CROWD} stores enter the queue`, async () => {
  const clock = new VirtualClock();
  const documents = new Documents();
  const random = sameRandom();
  const holder = storeOf(distant(documents, { clock, random, trip: TRIP }), clock, random);
  const held = claimOf(NAME);
  const granted = grant(holder, held);
  await clock.advance(3 * TRIP);
  await granted;
  const stores = Array.from(
    { length: CROWD },
    () => storeOf(distant(documents, { clock, random, trip: TRIP }), clock, random),
  );
  const joined = Promise.all(stores.map((store) => store.attempt(claimOf(NAME), { enqueue: true })));
  let [over, longest] = [false, 0];
  const renewed = (async () => {
    while (!over) {
      const from = clock.now().monotonic;
      assertEquals(await holder.renew(held), "renewed");
      longest = Math.max(longest, clock.now().monotonic - from);
      await clock.sleep(4 * TRIP);
    }
  })();
  await clock.advance(10_000);
  over = true;
  await clock.advance(1_000);
  await Promise.all([joined, renewed]);
  assert(longest < 12 * TRIP, `${longest} ms`);
  const { queue } = JSON.parse(documents.texts.get(NAME)!.value);
  assertEquals(new Set(queue.map(({ handle }: { handle: string }) => handle)).size, CROWD);
});
