import { assert, assertEquals } from "@std/assert";
import { parseDocument } from "../../../src/engine/document.ts";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { claimOf, grant } from "../../support/claims.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { ObjectHost } from "./host.ts";

const NAME = "a";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function place() {
  const clock = new VirtualClock();
  const host = new ObjectHost(clock);
  const { storage } = host.object(NAME);
  /** Lets the time pass, and alarms ring that are due, each in an object that was started for it. */
  const pass = async (ms: number) => {
    const end = clock.now().wall + ms;
    while (storage.alarm !== null && storage.alarm <= end) {
      clock.stall(storage.alarm - clock.now().wall);
      host.evict();
      await host.runAlarm(NAME);
    }
    clock.stall(end - clock.now().wall);
  };
  return { clock, host, storage, pass, store: new DurableObjectStore(host, undefined, clock) };
}

Deno.test("the first write sets the alarm, and later ones do not", async () => {
  const { clock, storage, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  assertEquals(storage.alarm, clock.now().wall + 7 * DAY_MS + HOUR_MS);
  const first = storage.alarm;
  clock.stall(1_000);
  await store.renew(claim);
  assertEquals([storage.alarm, storage.alarmReads], [first, 1]);
});

Deno.test("alarm() deletes what has not been used for 7 days, and keeps it before", async () => {
  const { storage, pass, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  await store.release(claim);
  storage.alarm! -= HOUR_MS + 1;
  await pass(7 * DAY_MS);
  assertEquals(storage.values.size, 1);
  await pass(7 * DAY_MS + HOUR_MS);
  assertEquals([storage.values.size, storage.alarm], [0, null]);
});

Deno.test("alarm() keeps a lock that is held", async () => {
  const { storage, pass, store } = place();
  await grant(store, claimOf(NAME, "exclusive", 15 * DAY_MS));
  await pass(14 * DAY_MS);
  assertEquals(storage.values.size, 1);
  assert(storage.alarm !== null);
});

Deno.test("alarm() ends the lease of a dead holder, and deletes its lock 7 days later", async () => {
  const { storage, pass, store } = place();
  await grant(store, claimOf(NAME));
  await pass(7 * DAY_MS + HOUR_MS);
  const { document } = storage.values.get(`lock:${NAME}`) as { document: Uint8Array };
  assert(parseDocument(NAME, new TextDecoder().decode(document)).unused);
  await pass(8 * DAY_MS);
  assertEquals([storage.values.size, storage.alarm], [0, null]);
});

Deno.test("alarm() keeps a fence that is above the clock", async () => {
  const { clock, storage, pass, store } = place();
  clock.setWall(30 * DAY_MS);
  const claim = claimOf(NAME);
  const fence = await grant(store, claim);
  await store.release(claim);
  clock.setWall(-30 * DAY_MS);
  storage.alarm = clock.now().wall;
  await pass(20 * DAY_MS);
  assert(await grant(store, claimOf(NAME)) > fence);
});

Deno.test("alarm() keeps what is not of this package", async () => {
  const { storage, pass, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  await store.release(claim);
  storage.values.set("mine", 1);
  await pass(15 * DAY_MS);
  assertEquals([...storage.values.keys()], ["mine"]);
});

Deno.test("a lock that comes while alarm() deletes everything is kept", async () => {
  const { host, storage, pass, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  await store.release(claim);
  await pass(7 * DAY_MS - 1);
  const { list } = storage;
  const next = claimOf(NAME, "exclusive", 15 * DAY_MS);
  storage.list = async (options) => {
    const listed = await list.call(storage, options);
    if (options.limit === 1) await grant(store, next);
    return listed;
  };
  host.evict();
  await pass(2 * DAY_MS);
  assertEquals(await store.renew(next), "renewed");
  assert(storage.alarm !== null);
});

Deno.test("fences rise after a lock was deleted", async () => {
  const { pass, store } = place();
  const claim = claimOf(NAME);
  const fence = await grant(store, claim);
  await store.release(claim);
  await pass(15 * DAY_MS);
  assert(await grant(store, claimOf(NAME)) > fence);
});

Deno.test("alarm() deletes no lock that is granted meanwhile", async () => {
  for (let microtasks = 0; microtasks < 40; microtasks++) {
    const { clock, host, store } = place();
    const [old, claim] = [claimOf(NAME), claimOf(NAME)];
    await grant(store, old);
    await store.release(old);
    clock.stall(8 * DAY_MS);
    const alarm = host.runAlarm(NAME);
    for (let i = 0; i < microtasks; i++) await Promise.resolve();
    await grant(store, claim);
    await alarm;
    assertEquals(await store.renew(claim), "renewed", `after ${microtasks} microtasks`);
  }
});
