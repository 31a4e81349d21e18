import { assert, assertEquals } from "@std/assert";
import { ask, failure, hold, holders, type Steps, waitElsewhere } from "./place.ts";

/** How a request is queued, granted and released. */
export const GRANTING: Steps = {
  async "request() does not call back before it returns"({ connect, name }) {
    const asked = ask(connect(), name);
    assert(!asked.called());
    await asked.end();
  },

  async "request() calls back with the name and the mode of the lock"({ connect, name }) {
    const locks = connect();
    for (const mode of ["exclusive", "shared"] as const) {
      const held = await hold(locks, name, { mode });
      assertEquals([held.lock?.name, held.lock?.mode], [name, mode]);
      await held.end();
    }
  },

  async "request() calls back with one argument, once"({ connect, name }) {
    let calls = 0;
    await connect().request(name, (...args) => {
      calls++;
      assertEquals(args.length, 1);
    });
    assertEquals(calls, 1);
  },

  async "request() holds the lock until the callback's promise is fulfilled"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const next = await waitElsewhere(connect, name);
    assertEquals((await holders(locks, name)).length, 1);
    assert(!next.called());
    held.release("result");
    assertEquals(await held.done, "result");
    await next.end();
  },

  async "request() holds the lock until the callback's promise is rejected"({ connect, name }) {
    const held = await hold(connect(), name);
    const next = await waitElsewhere(connect, name);
    const reason = { no: "error" };
    held.fail(reason);
    assert(await failure(held.done) === reason);
    await next.end();
  },

  async "request() releases the lock when the callback returns no promise"({ connect, name }) {
    const locks = connect();
    assertEquals(await locks.request(name, () => 42), 42);
    assertEquals(await holders(locks, name), []);
  },

  async "the lock is released when the callback throws, and the request rejects"({ connect, name }) {
    const locks = connect();
    const reason = new Error("thrown");
    const thrown = failure(locks.request(name, () => {
      throw reason;
    }));
    assert(await thrown === reason);
    assertEquals(await holders(locks, name), []);
  },

  async "the lock is held until a thenable that the callback returns is settled"({ connect, name }) {
    const thenable = { then: (resolve: (value: number) => void) => resolve(42) };
    assertEquals<unknown>(await connect().request(name, () => thenable), 42);
  },

  async "the request settles after the release"({ connect, name }) {
    const locks = connect();
    const tryAgain = () => connect().request(name, { ifAvailable: true }, (lock) => lock !== null);
    for (let i = 0; i < 10; i++) {
      await locks.request(name, () => {});
      assert(await tryAgain(), "free once it is fulfilled");
      await locks.request(name, () => Promise.reject(new Error("failed"))).catch(() => {});
      assert(await tryAgain(), "free once it is rejected");
    }
  },

  async "locks of other names do not matter"({ connect, name }) {
    const first = await hold(connect(), name);
    const second = await hold(connect(), `${name}:other`);
    const busy = await connect().request(name, { ifAvailable: true }, (lock) => lock);
    assertEquals(busy, null);
    for (const held of [first, second]) await held.end();
  },

  async "an exclusive lock is not granted while anybody holds it"({ connect, name }) {
    for (const mode of ["exclusive", "shared"] as const) {
      const held = await hold(connect(), name, { mode });
      const asked = await waitElsewhere(connect, name);
      assert(!asked.called());
      held.release();
      await asked.end();
    }
  },

  async "a shared lock is granted beside shared ones"({ connect, name }) {
    const locks = connect();
    const all = [];
    for (let i = 0; i < 3; i++) all.push(await hold(connect(), name, { mode: "shared" }));
    assertEquals((await holders(locks, name)).map(({ mode }) => mode), ["shared", "shared", "shared"]);
    for (const held of all) await held.end();
  },

  async "a shared lock is not granted while an exclusive one is held"({ connect, name }) {
    const held = await hold(connect(), name);
    const asked = await waitElsewhere(connect, name, { mode: "shared" });
    assert(!asked.called());
    held.release();
    await asked.end();
  },

  async "a request is granted only when it is the first in the queue"({ connect, name }) {
    const reader = await hold(connect(), name, { mode: "shared" });
    const writer = await waitElsewhere(connect, name);
    const late = await waitElsewhere(connect, name, { mode: "shared" });
    assert(!late.called(), "it does not pass the exclusive one");
    reader.release();
    await writer.granted;
    assert(!late.called());
    writer.release();
    await late.end();
  },

  async "requests are granted in the order in which they were made"({ connect, name }) {
    const held = await hold(connect(), name);
    const order: number[] = [];
    const all = [];
    for (let i = 0; i < 5; i++) {
      const asked = await waitElsewhere(connect, name);
      void asked.granted.then(() => {
        order.push(i);
        asked.release();
      });
      all.push(asked.done);
    }
    held.release();
    await Promise.all(all);
    assertEquals(order, [0, 1, 2, 3, 4]);
  },

  async "requests of one manager keep their order though none of them is awaited"({ connect, name }) {
    const locks = connect();
    const order: number[] = [];
    await Promise.all(Array.from({ length: 20 }, (_, i) => locks.request(name, () => order.push(i))));
    assertEquals(order, Array.from({ length: 20 }, (_, i) => i));
  },

  async "requests of different modes keep their order though none of them is awaited"({ connect, name }) {
    const locks = connect();
    const order: number[] = [];
    const request = (_: unknown, i: number) => {
      return locks.request(name, { mode: i % 2 === 0 ? "exclusive" : "shared" }, () => void order.push(i));
    };
    await Promise.all(Array.from({ length: 12 }, request));
    assertEquals(order, Array.from({ length: 12 }, (_, i) => i));
  },

  async "requests for different names that are free are called back in their order"({ connect, name }) {
    const locks = connect();
    const order: number[] = [];
    const request = (_: unknown, i: number) => locks.request(`${name}:${i}`, () => void order.push(i));
    await Promise.all(Array.from({ length: 6 }, request));
    assertEquals(order, Array.from({ length: 6 }, (_, i) => i));
  },

  async "shared requests that are granted together are called back in their order"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const order: number[] = [];
    const request = (_: unknown, i: number) => locks.request(name, { mode: "shared" }, () => void order.push(i));
    const all = Array.from({ length: 6 }, request);
    held.release();
    await Promise.all([held.done, ...all]);
    assertEquals(order, Array.from({ length: 6 }, (_, i) => i));
  },

  async "shared requests that follow each other are granted together"({ connect, name }) {
    const held = await hold(connect(), name);
    const readers = [];
    for (let i = 0; i < 3; i++) readers.push(await waitElsewhere(connect, name, { mode: "shared" }));
    const writer = await waitElsewhere(connect, name);
    held.release();
    await Promise.all(readers.map(({ granted }) => granted));
    assert(!writer.called());
    for (const reader of readers) reader.release();
    await writer.end();
  },

  async "request() in a callback may ask for another lock, or for one that is not free"({ connect, name }) {
    const locks = connect();
    const inner = await locks.request(name, async () => [
      await locks.request(`${name}:inner`, (lock) => lock?.name),
      await locks.request(name, { ifAvailable: true }, (lock) => lock),
    ]);
    assertEquals(inner, [`${name}:inner`, null]);
  },
};
