/**
 * A process of a rolling release: enters sections under a lock until its input ends.
 *
 * @module
 */
import { acquire } from "@holdfast/lock";
import { Mutex } from "@holdfast/compat/redis-semaphore";
import Redlock from "@holdfast/compat/redlock";
import { redis } from "@holdfast/lock/redis";
import { Redis } from "ioredis";
import { Mutex as OldMutex } from "redis-semaphore";
import OldRedlock from "redlock5";
import { LEASE_MS, type Library, LOG, NAME, REGISTER, type WorkerKind } from "./places.ts";

/** A lock that is held. */
interface HeldSection {
  /** Until when it may be trusted at least, by the wall clock. */
  readonly trustedUntil: number;
  /** The fence, which the old library does not have. */
  readonly fence?: bigint | undefined;
  release(): Promise<unknown>;
}

/** How long one call waits, in milliseconds. */
const WAIT_MS = 5_000;

/** Notes a fence at the resource, and returns its value; refuses a stale one. */
const READ = `
  if tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) > tonumber(ARGV[1]) then return -1 end
  redis.call('HSET', KEYS[1], 'fence', ARGV[1])
  return tonumber(redis.call('HGET', KEYS[1], 'value') or 0)`;

/** Writes the next value, unless the fence is stale. */
const WRITE = `
  if tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) > tonumber(ARGV[1]) then return 0 end
  redis.call('HSET', KEYS[1], 'value', ARGV[2])
  return redis.call('HINCRBY', KEYS[1], 'writes', 1)`;

const [port, library, kind, prefix] = Deno.args as [string, Library, WorkerKind, string];
const client = new Redis(Number(port));
const resource = new Redis(Number(port));

/**
 * When the last answered command that may set a lock was sent: a mutex does not tell until when its lock is trusted. At
 * its grant it also asks whether the lock is held, which has no answer yet and says nothing of the lease.
 */
let sentAt = 0;
const send = client.sendCommand.bind(client);
client.sendCommand = (...sent: Parameters<typeof send>) => {
  const at = Date.now();
  const answer = send(...sent) as Promise<unknown>;
  if (/^(set|eval|evalsha)$/.test(sent[0].name)) answer.then(() => sentAt = at, () => {});
  return answer;
};

const OPENERS: Readonly<Record<Library, Record<WorkerKind, () => () => Promise<HeldSection>>>> = {
  "redlock": {
    old: () => {
      const locks = new OldRedlock([client as never], { retryCount: 0 });
      return async () => {
        const lock = await locks.acquire([NAME], LEASE_MS);
        return { trustedUntil: lock.expiration, release: () => lock.release() };
      };
    },
    compat: () => {
      const locks = new Redlock([client], { retryCount: 25, retryDelay: 200 });
      return async () => {
        const lock = await locks.acquire([NAME], LEASE_MS);
        return { trustedUntil: lock.expiration, fence: lock.fence, release: () => lock.release() };
      };
    },
    ours: () => openOurs(""),
  },
  "redis-semaphore": {
    old: () => async () => {
      const mutex = new OldMutex(client as never, NAME, { lockTimeout: LEASE_MS, onLockLost: () => {} });
      await mutex.acquire();
      return { trustedUntil: sentAt + LEASE_MS, release: () => mutex.release() };
    },
    compat: () => async () => {
      const mutex = new Mutex(client, NAME, { lockTimeout: LEASE_MS, acquireTimeout: WAIT_MS, onLockLost: () => {} });
      await mutex.acquire();
      return { trustedUntil: sentAt + LEASE_MS, fence: mutex.fence, release: () => mutex.release() };
    },
    ours: () => openOurs("mutex:"),
  },
};

function openOurs(usual: string): () => Promise<HeldSection> {
  const store = redis(client, { prefix: prefix ?? usual });
  return async () => {
    const lock = await acquire(store, NAME, { lease: LEASE_MS, wait: WAIT_MS });
    return { trustedUntil: Date.now() + lock.remaining(), fence: lock.fence, release: () => lock.release() };
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms * Math.random()));
}

/** Enters the section, changes the resource if there is a fence, and leaves. */
async function enter({ trustedUntil, fence }: HeldSection): Promise<void> {
  const section = crypto.randomUUID();
  await resource.xadd(LOG, "*", "section", section, "kind", kind, "trusted", Math.floor(trustedUntil));
  const value = fence === undefined ? -1 : Number(await resource.eval(READ, 1, REGISTER, `${fence}`));
  await pause(10);
  if (value >= 0) await resource.eval(WRITE, 1, REGISTER, `${fence}`, value + 1);
  await resource.xadd(LOG, "*", "section", section, "kind", kind);
}

let isOver = false;
const acquireOnce = OPENERS[library][kind]();
Deno.stdin.read(new Uint8Array(1)).then(() => isOver = true);
console.log("ready");
while (!isOver) {
  // Busy, or the lease ended: the next turn tries again.
  const held = await acquireOnce().catch(() => undefined);
  if (held !== undefined) {
    await enter(held);
    await held.release().catch(() => {});
  }
  await pause(150);
}
client.disconnect();
resource.disconnect();
