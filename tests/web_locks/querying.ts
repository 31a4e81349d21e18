import { assert, assertEquals } from "@std/assert";
import { ask, hold, holders, pending, type Steps, wait, waitElsewhere } from "./place.ts";

/** How the state of the locks is listed. */
export const QUERYING: Steps = {
  async "query() lists nothing of a name that is neither held nor requested"({ connect, name }) {
    const locks = connect();
    await locks.request(name, () => {});
    const { held, pending } = await locks.query();
    assert(Array.isArray(held) && Array.isArray(pending));
    assertEquals([...held, ...pending].filter((info) => info.name === name), []);
  },

  async "query() lists a lock that is held with its name, mode and client"({ connect, name }) {
    const locks = connect();
    for (const mode of ["exclusive", "shared"] as const) {
      await locks.request(name, { mode }, async () => {
        const [info, ...others] = await holders(locks, name);
        assertEquals({ ...info }, { name, mode, clientId: info!.clientId });
        assertEquals(typeof info?.clientId, "string");
        assertEquals(others, []);
        assertEquals(await pending(locks, name), []);
      });
    }
  },

  async "query() lists everybody who shares a lock"({ connect, name }) {
    const locks = connect();
    const all = [await hold(locks, name, { mode: "shared" }), await hold(locks, name, { mode: "shared" })];
    const clients = (await holders(locks, name)).map(({ clientId }) => clientId);
    assertEquals(clients.length, 2);
    assertEquals(clients[0], clients[1]);
    for (const held of all) await held.end();
  },

  async "query() lists the requests of a name in the order in which they were made"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const modes = ["exclusive", "shared", "shared", "exclusive", "shared"] as const;
    const all = [];
    for (const mode of modes) all.push(await waitElsewhere(connect, name, { mode }));
    const infos = await pending(locks, name);
    assertEquals(infos.map(({ mode }) => mode), [...modes]);
    assert(infos.every((info) => info.name === name && typeof info.clientId === "string"));
    held.release();
    for (const asked of all) {
      void asked.granted.then(() => asked.release());
    }
    await Promise.all(all.map(({ done }) => done));
    assertEquals(await pending(locks, name), []);
  },

  async "query() lists the requests of every name"({ connect, name }) {
    const locks = connect();
    const names = [name, `${name}:other`];
    const all = [];
    for (const each of names) all.push(await hold(locks, each), await wait(locks, each));
    for (const each of names) {
      assertEquals([(await holders(locks, each)).length, (await pending(locks, each)).length], [1, 1]);
    }
    for (const { release, done } of all) {
      release();
      await done;
    }
  },

  async "query() lists the requests that its manager has just made"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const names = [`${name}:1`, name, `${name}:2`, name];
    const all = names.map((each) => ask(locks, each));
    const state = await locks.query();
    assertEquals(state.pending.filter((info) => info.name === name).length, 2);
    for (const { release } of all) release();
    held.release();
    await Promise.all([held, ...all].map(({ done }) => done));
  },

  async "query() gives the same client for what one manager holds and requests"({ connect, name }) {
    const locks = connect();
    const held = await hold(locks, name);
    const asked = await wait(locks, name);
    assertEquals((await holders(locks, name))[0]?.clientId, (await pending(locks, name))[0]?.clientId);
    for (const { release, done } of [held, asked]) {
      release();
      await done;
    }
  },
};
