// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import Redlock, { ExecutionError, type Lock } from "@holdfast/lock/compat/redlock";
import type { Redis } from "ioredis";
import Redlock4 from "redlock4";
import Redlock5 from "redlock5";
import { RedisServer } from "../support/redis_server.ts";

const LONG = 600_000;

/** A lock of the original. */
interface OldLock {
  release?(): Promise<unknown>;
  unlock?(): Promise<unknown>;
}

/** The original, in both versions. */
const ORIGINALS: Readonly<Record<string, (clients: Redis[]) => (names: string[]) => Promise<OldLock>>> = {
  "redlock 4": (clients) => {
    const old = new Redlock4(clients, { retryCount: 1, retryDelay: 10 });
    return (names) => Promise.resolve(old.lock(names, LONG) as unknown as OldLock);
  },
  "redlock 5": (clients) => {
    const old = new Redlock5(clients as never, { retryCount: 0 });
    return (names) => old.acquire(names, LONG);
  },
};

for (const [version, open] of Object.entries(ORIGINALS)) {
  for (const count of [1, 3]) {
    Deno.test(`Redlock and ${version} exclude each other on servers: ${count}`, async () => {
      const servers = await Promise.all(Array.from({ length: count }, () => RedisServer.start()));
      try {
        const old = open(servers.map((server) => server.connect()));
        const locks = new Redlock(servers.map((server) => server.connect()), { retryCount: 0 });
        for (const names of [["a"], ["a", "b"]]) {
          const mine: Lock = await locks.acquire(names, LONG);
          await assertRejects(() => old(["a"]), Error);
          await mine.release();
          const theirs = await old(names);
          await assertRejects(() => locks.acquire(["a"], LONG), ExecutionError);
          await (theirs.release?.() ?? theirs.unlock?.());
        }
        await using last = await locks.acquire(["a"], LONG);
        assert(!last.signal.aborted);
      } finally {
        const left = (await Promise.all(servers.map((server) => server.leftovers()))).flat();
        for (const server of servers) await server[Symbol.asyncDispose]();
        assertEquals(left, []);
      }
    });
  }
}
