// Deno only: it takes long, in a simulated world.
import { assert, assertEquals } from "@std/assert";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { type LockDocument, parseDocument } from "../../src/engine/document.ts";
import { handleOf } from "../../src/contract/store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { NAME } from "./controlled_backend.ts";
import { distant, sameRandom, storeOf } from "./distant_backend.ts";
import { Documents } from "./memory_backend.ts";

/**
 * How many stores wait for one name, and how long a message to the server and back takes, in milliseconds. The last
 * ones take a minute: `CROWDS=all` plays them, too.
 */
const CROWDS = [[20, 6], [20, 150], [100, 6], [100, 40], [100, 150], [300, 6], [300, 40], [300, 150]] as const;
const PLAYED = Deno.env.get("CROWDS") === "all" ? CROWDS : CROWDS.slice(0, 4);

/** How many of them are served. */
const SERVED = 20;

/**
 * For how long the lock is held that they wait for, and for how long the first one does not take its turn, in
 * milliseconds.
 */
const HELD = 20_000;
const STALLED = 4_000;

for (const [stores, trip] of PLAYED) {
  Deno.test(`acquire() serves ${stores} stores ${trip} ms away, all in their order`, async () => {
    const clock = new VirtualClock();
    const random = sameRandom();
    const documents = new Documents();
    const order = new Order(documents);
    const acquire = async (store: string, stalledUntil: () => number) => {
      const backend = distant(documents, { clock, random, trip, tells: true, stalledUntil });
      const settings = checkAcquireOptions({ wait: 3_600_000, lease: 60_000, meta: { store } });
      return (await acquireFrom(storeOf(backend, clock, random), NAME, settings, clock))!;
    };
    const holds = acquire("holder", () => 0);
    await clock.advance(10 * trip);
    const held = await holds;
    const served: string[] = [];
    const slow = { store: "", until: 0 };
    const serve = async (store: string) => {
      // Where they are many and far away, each comes when the one before it may have written.
      await clock.sleep(random() * (stores * trip > 10_000 ? stores * trip : 100));
      const lock = await acquire(store, () => slow.store === store ? slow.until : 0);
      served.push(store);
      await clock.sleep(10);
      await lock.release();
    };
    for (let i = 0; i < stores; i++) void serve(`${i}`);
    for (let i = 0; order.document.queue.length < stores && i < 12 * stores; i++) await clock.advance(trip);
    assertEquals(order.document.queue.length, stores);
    // Nobody but the holder writes meanwhile.
    const { counter } = order.document;
    await clock.advance(HELD);
    assert(order.document.counter <= counter + 2);
    assertEquals(order.document.queue.length, stores);
    slow.store = JSON.parse(order.document.queue[0]!.claim.meta!).store;
    slow.until = clock.now().monotonic + STALLED;
    await Promise.all([held.release(), clock.advance(2 * STALLED + SERVED * (5 * trip + 20))]);
    assertEquals(order.violations, []);
    assert(served.length >= SERVED && served.indexOf(slow.store) > 0, `${served}`);
  });
}

/** Judges in which order waiters are served, by what is written. */
class Order {
  readonly violations: string[] = [];
  readonly #tickets = new Map<string, number>();
  document: LockDocument;

  constructor(documents: Documents) {
    this.document = parseDocument(NAME, undefined);
    documents.onChange(NAME, () => this.#judge(parseDocument(NAME, documents.found(NAME).value)));
  }

  #judge(after: LockDocument): void {
    const before = this.document;
    this.document = after;
    for (const { claim, ticket } of after.queue) {
      const known = this.#tickets.get(handleOf(claim)) ?? ticket;
      if (known !== ticket) this.violations.push(`${handleOf(claim)} came back as ${ticket}, not ${known}`);
      this.#tickets.set(handleOf(claim), ticket);
    }
    const waiting = new Set(after.queue.map(({ claim }) => handleOf(claim)));
    for (const handle of after.holders.keys()) {
      if (before.holders.has(handle)) continue;
      const ticket = this.#tickets.get(handle) ?? 0;
      const passed = before.queue.filter((waiter) => waiting.has(handleOf(waiter.claim)) && waiter.ticket < ticket);
      if (passed.length > 0) this.violations.push(`${handle} overtakes ${passed.length}`);
    }
  }
}
