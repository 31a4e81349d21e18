import { assert, assertEquals } from "@std/assert";
import { failure, hold, holders, pending, type Steps, wait } from "./place.ts";

/** How a request goes that does not wait. */
export const AVAILABLE: Steps = {
  async "ifAvailable calls back with the lock when that is free"({ connect, name }) {
    const held = await hold(connect(), name, { ifAvailable: true });
    assertEquals(held.lock?.name, name);
    assertEquals((await holders(connect(), name)).length, 1);
    held.release("result");
    assertEquals(await held.done, "result");
  },

  async "ifAvailable calls back with null when the lock is held, and does not queue"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    for (const mode of ["exclusive", "shared"] as const) {
      const asked = await hold(locks, name, { mode, ifAvailable: true });
      assertEquals(asked.lock, null);
      assertEquals(await pending(locks, name), []);
      asked.release();
    }
    await held.end();
  },

  async "ifAvailable calls back with null when somebody waits"({ connect, name }) {
    const locks = connect();
    const reader = await hold(locks, name, { mode: "shared" });
    assertEquals(await locks.request(name, { mode: "shared", ifAvailable: true }, (lock) => lock?.mode), "shared");
    const writer = await wait(locks, name);
    assertEquals(await locks.request(name, { mode: "shared", ifAvailable: true }, (lock) => lock), null);
    reader.release();
    await writer.end();
  },

  async "ifAvailable gives what the callback makes of null"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const reason = new Error("thrown");
    const fail = () => {
      throw reason;
    };
    assertEquals(await locks.request(name, { ifAvailable: true }, () => "busy"), "busy");
    assertEquals(await locks.request(name, { ifAvailable: true }, () => Promise.resolve("busy")), "busy");
    assert(await failure(locks.request(name, { ifAvailable: true }, fail)) === reason);
    assert(await failure(locks.request(name, { ifAvailable: true }, () => Promise.reject(reason))) === reason);
    await held.end();
  },
};
