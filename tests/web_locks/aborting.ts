import { assert, assertEquals } from "@std/assert";
import { assertDomError, failure, hold, pending, queued, type Steps, wait, waitElsewhere } from "./place.ts";

/** How a request is aborted. */
export const ABORTING: Steps = {
  async "an aborted request rejects with the reason of its signal"({ connect, name }) {
    const reason = { enough: true };
    for (const given of [undefined, reason]) {
      // A name of its own: an aborted request leaves the queue a moment later.
      const own = `${name} ${given === undefined}`;
      const held = await hold(connect(), own);
      const controller = new AbortController();
      const asked = await waitElsewhere(connect, own, { signal: controller.signal });
      controller.abort(given);
      if (given === undefined) await assertDomError(asked.done, "AbortError");
      else assert(await failure(asked.done) === given);
      assert(!asked.called());
      await held.end();
    }
  },

  async "an aborted request leaves the queue, and is never granted"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const controller = new AbortController();
    const asked = await wait(locks, name, { signal: controller.signal });
    const next = await wait(locks, name);
    controller.abort();
    await failure(asked.done);
    await queued(locks, name, 1);
    held.release();
    await next.granted;
    assert(!asked.called());
    await next.end();
  },

  async "those who waited behind an aborted request are served"({ connect, name }) {
    const locks = connect();
    const reader = await hold(locks, name, { mode: "shared" });
    const controller = new AbortController();
    const writer = await waitElsewhere(connect, name, { signal: controller.signal });
    const late = await waitElsewhere(connect, name, { mode: "shared" });
    assert(!late.called());
    controller.abort();
    await failure(writer.done);
    await late.granted;
    for (const held of [reader, late]) await held.end();
    assertEquals(await pending(locks, name), []);
  },

  async "one signal aborts several requests, and no others"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = [await wait(locks, name, { signal })];
    await queued(connect(), name, 1);
    aborted.push(await waitElsewhere(connect, name, { signal }));
    const other = await wait(locks, name, { signal: new AbortController().signal });
    controller.abort("enough");
    for (const asked of aborted) assertEquals(await failure(asked.done), "enough");
    held.release();
    await other.granted;
    other.release("granted");
    assertEquals(await other.done, "granted");
  },

  async "a request that is aborted in the turn in which it was made is not granted"({ connect, name }) {
    const locks = connect();
    const controller = new AbortController();
    const asked = locks.request(name, { signal: controller.signal }, () => "granted");
    controller.abort("enough");
    assertEquals(await failure(asked), "enough");
    // What it may have taken is released.
    await locks.request(name, () => {});
  },

  async "a signal that aborts while the callback runs changes nothing"({ connect, name }) {
    const locks = connect();
    const controller = new AbortController();
    const held = await hold(locks, name, { signal: controller.signal });
    controller.abort();
    assertEquals(await locks.request(name, { ifAvailable: true }, (lock) => lock), null);
    held.release("result");
    assertEquals(await held.done, "result");
  },

  async "a signal that aborts after the release changes nothing"({ connect, name }) {
    const controller = new AbortController();
    assertEquals(await connect().request(name, { signal: controller.signal }, () => "result"), "result");
    controller.abort();
    assertEquals(await connect().request(name, () => "next"), "next");
  },
};
