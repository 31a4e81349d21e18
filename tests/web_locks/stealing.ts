import { assert, assertEquals } from "@std/assert";
import { ask, assertDomError, hold, holders, pending, type Steps, wait } from "./place.ts";

/** How a lock is stolen. */
export const STEALING: Steps = {
  async "steal takes a lock that is free"({ connect, name }) {
    assertEquals(await connect().request(name, { steal: true }, (lock) => lock?.name), name);
  },

  async "steal takes the lock from its holder, whose request rejects with AbortError"({ connect, name }) {
    const locks = connect();
    const held = await hold(connect(), name);
    const thief = await hold(locks, name, { steal: true });
    assertEquals(thief.lock?.mode, "exclusive");
    await assertDomError(held.done, "AbortError");
    assertEquals((await holders(locks, name)).length, 1);
    thief.release("stolen");
    assertEquals(await thief.done, "stolen");
  },

  async "steal takes the lock from all who share it"({ connect, name }) {
    const locks = connect();
    const all = [await hold(locks, name, { mode: "shared" }), await hold(connect(), name, { mode: "shared" })];
    const thief = await hold(connect(), name, { steal: true });
    for (const held of all) await assertDomError(held.done, "AbortError");
    assertEquals((await holders(locks, name)).map(({ mode }) => mode), ["exclusive"]);
    await thief.end();
  },

  async "steal takes the lock from a thief"({ connect, name }) {
    const first = await hold(connect(), name, { steal: true });
    const second = await hold(connect(), name, { steal: true });
    await assertDomError(first.done, "AbortError");
    await second.end();
  },

  async "the last of several thieves has the lock though none of them is awaited"({ connect, name }) {
    const locks = connect();
    const thieves = [0, 1, 2].map(() => ask(locks, name, { steal: true }));
    const last = thieves.pop()!;
    for (const { done } of thieves) await assertDomError(done, "AbortError");
    await last.granted;
    last.release("stolen");
    assertEquals(await last.done, "stolen");
  },

  async "steal leaves locks of other names alone"({ connect, name }) {
    const held = await hold(connect(), `${name}:other`);
    await connect().request(name, { steal: true }, () => {});
    held.release("kept");
    assertEquals(await held.done, "kept");
  },

  async "steal goes ahead of those who wait, and they stay in their order"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const first = await wait(locks, name, { mode: "shared" });
    const second = await wait(locks, name);
    const thief = await hold(connect(), name, { steal: true });
    assert(!first.called() && !second.called());
    assertEquals((await pending(locks, name)).map(({ mode }) => mode), ["shared", "exclusive"]);
    await assertDomError(held.done, "AbortError");
    thief.release();
    await first.granted;
    assert(!second.called());
    first.release();
    await second.end();
  },

  async "what the callback gives after a steal changes nothing, for anybody"({ connect, name }) {
    const [first, second] = [await hold(connect(), name), await hold(connect(), `${name}:second`)];
    const thief = await hold(connect(), name, { steal: true });
    const other = await hold(connect(), `${name}:second`, { steal: true });
    await assertDomError(first.done, "AbortError");
    await assertDomError(second.done, "AbortError");
    first.release("too late");
    // Nor is it an unhandled rejection, which would end the test.
    second.fail(new Error("too late"));
    await assertDomError(first.done, "AbortError");
    assertEquals(await connect().request(name, { ifAvailable: true }, (lock) => lock), null);
    for (const held of [thief, other]) await held.end();
  },
};
