import { assert, assertEquals } from "@std/assert";
import type { WriteResult } from "../../src/engine/mod.ts";
import { handleOf } from "../../src/contract/store.ts";
import { claimOf, grant } from "../support/claims.ts";
import { type ControlledBackend, NAME, Place } from "./controlled_backend.ts";

const STEAL = { enqueue: false, steal: true };

/** What a backend says that refuses the repetition of a write: what is there instead, or not. */
const REPLIES: Readonly<Record<string, (reply: WriteResult<number>) => WriteResult<number>>> = {
  "what is there": (reply) => reply,
  "nothing": () => ({ written: false }),
};

/**
 * Lets the network execute the next write, and repeat it once `between` has resolved: only the second reply arrives.
 */
function repeatWrite(
  backend: ControlledBackend,
  reply: (reply: WriteResult<number>) => WriteResult<number>,
  between: () => Promise<unknown> = () => Promise.resolve(),
): void {
  backend.onWrite = async (execute) => {
    backend.onWrite = (execute) => execute();
    assert((await execute()).written);
    await between();
    const second = await execute();
    assert(!second.written);
    return reply(second);
  };
}

for (const [told, reply] of Object.entries(REPLIES)) {
  Deno.test(`release() that is repeated has released the lock, told ${told}`, async () => {
    const place = new Place();
    const { store, backend } = place.connect();
    for (const claim of [claimOf(NAME), { ...claimOf(NAME), permits: 3 }, claimOf(NAME, "shared")]) {
      await grant(store, claim);
      repeatWrite(backend, reply);
      assertEquals(await store.release(claim), true);
      assertEquals(place.handles.holders, []);
    }
  });

  Deno.test(`release() that is repeated has released what others hold, told ${told}`, async () => {
    const place = new Place();
    const [a, b] = [place.connect(), place.connect()];
    const [first, second, third] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)];
    await grant(a.store, first);
    repeatWrite(a.backend, reply, async () => {
      await grant(b.store, second);
      await b.store.release(second);
      await grant(b.store, third);
    });
    assertEquals(await a.store.release(first), true);
    assertEquals(place.handles.holders, [third.owner]);
  });

  Deno.test(`release() of a lock that was revoked has nothing to release, told ${told}`, async () => {
    const place = new Place();
    const [a, b] = [place.connect(), place.connect()];
    const claim = claimOf(NAME);
    await grant(a.store, claim);
    await b.store.evict(NAME);
    a.backend.onWrite = async (execute) => {
      a.backend.onWrite = (execute) => execute();
      return reply(await execute());
    };
    assertEquals(await a.store.release(claim), false);
  });

  Deno.test(`evict() that is repeated evicts nobody who came after it, told ${told}`, async () => {
    const place = new Place();
    const [a, b] = [place.connect(), place.connect()];
    const claims = [claimOf(NAME, "shared"), claimOf(NAME, "shared")];
    for (const claim of claims) await grant(a.store, claim);
    const next = claimOf(NAME);
    repeatWrite(b.backend, reply, () => grant(a.store, next));
    assertEquals(await b.store.evict(NAME), claims.length);
    assertEquals(place.handles.holders, [next.owner]);
  });

  Deno.test(`attempt() that is repeated steals from nobody after it, told ${told}`, async () => {
    const place = new Place();
    const [a, b] = [place.connect(), place.connect()];
    const [held, thief, next] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)];
    await grant(a.store, held);
    let later = 0n;
    repeatWrite(b.backend, reply, async () => {
      const attempt = await a.store.attempt(next, STEAL);
      assert(attempt.granted);
      later = attempt.fence;
    });
    const attempt = await b.store.attempt(thief, STEAL);
    assert(attempt.granted && attempt.fence < later);
    assertEquals(place.handles.holders, [next.owner]);
    assertEquals(await b.store.renew(thief), "lost");
  });
}

Deno.test("attempt() that is repeated grants the lock once", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const claim = claimOf(NAME);
  repeatWrite(backend, (reply) => reply);
  const fence = await grant(store, claim);
  assertEquals(place.document.holders.get(handleOf(claim))?.fence, fence);
  assertEquals(await store.renew(claim), "renewed");
});

Deno.test("renew() that is repeated renews the lease", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const claim = claimOf(NAME);
  await grant(store, claim);
  repeatWrite(backend, (reply) => reply);
  assertEquals(await store.renew(claim), "renewed");
});

Deno.test("release() that is repeated has released the lock, after reads that are behind", async () => {
  const place = new Place({ ahead: 0 });
  const { store, backend } = place.connect();
  const claim = claimOf(NAME);
  await grant(store, claimOf(NAME, "exclusive", 1_000));
  const behind = await backend.read(NAME);
  await place.clock.advance(1_100);
  await grant(store, claim);
  // The first reply is that to a repetition, and no refusal says what is there.
  backend.onWrite = async (execute) => {
    const reply = await execute();
    return reply.written && backend.writes > 1 ? reply : { written: false };
  };
  const time = place.clock.now().wall;
  backend.onRead = (execute) => backend.reads <= 2 ? Promise.resolve({ ...behind, time }) : execute();
  backend.trips();
  const released = store.release(claim);
  await place.clock.advance(1_000);
  assertEquals([await released, backend.reads], [true, 3]);
});

Deno.test("release() whose refusal comes a minute late is a fault", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const [claim, next] = [claimOf(NAME), claimOf(NAME)];
  await grant(a.store, claim);
  const { promise, resolve } = Promise.withResolvers<void>();
  repeatWrite(a.backend, (reply) => reply, () => promise);
  const released = a.store.release(claim).catch((error: Error) => error.message);
  await place.clock.advance(60_000);
  await grant(b.store, next);
  resolve();
  assert(`${await released}`.startsWith("no answer to a write within"));
  assertEquals(place.handles.holders, [next.owner]);
});

Deno.test("two evict() that cross evict a holder once, and each tells what it did", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  await grant(a.store, claimOf(NAME));
  let other: number | undefined;
  repeatWrite(a.backend, (reply) => reply, async () => other = await b.store.evict(NAME));
  assertEquals([await a.store.evict(NAME), other], [1, 0]);
});

Deno.test("a document remembers the last writes only", async () => {
  const place = new Place();
  const { store } = place.connect();
  for (let i = 0; i < 20; i++) {
    const claim = claimOf(NAME);
    await grant(store, claim);
    await store.release(claim);
  }
  assertEquals(place.document.writes.length, 8);
});
