import type { Redis } from "ioredis";
import { lockKeys } from "../src/stores/redis/keys/keys.ts";
import { attempt, release } from "../src/stores/redis/scripts/generated.ts";
import { IDLE } from "./relay.ts";
import { pause } from "./pause.ts";

const LEASE = "30000";

/** A client with its connection for wake-ups. */
interface Contender {
  readonly client: Redis;
  readonly subscriber: Redis;
  readonly channel: string;
}

/**
 * KEYS: those of a lock. ARGV: handle of the holder, lease in ms, that of the next one, its channel. What a release
 * would have to do at least that grants the lock to the next waiter, and sends it its fence: none of the checks.
 */
const GRANTING_RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('the lock was lost') end
redis.call('ZREM', KEYS[2], ARGV[3])
redis.call('HDEL', KEYS[3], ARGV[3])
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
local time = redis.call('TIME')
local fence = time[1] .. string.sub('00000' .. time[2], -6)
redis.call('SET', KEYS[6], fence)
return redis.call('PUBLISH', ARGV[4], fence)`;

/** Handoffs in milliseconds, from each release until the next holder has its fence. */
export interface RawHandoffs {
  /** The release sends a message, and the next holder attempts. */
  readonly attempted: readonly number[];
  /** The release grants the lock, and sends the fence. */
  readonly granted: readonly number[];
}

/**
 * Hands a lock to and fro with the scripts and a message, sent as they are: what a handoff costs the client library,
 * the connections and the server, with nothing of Holdfast's own around it. In turns so that the next holder attempts,
 * and so that the release grants it the lock, so many times each.
 */
export async function rawHandoffs(clients: readonly [Redis, Redis], times: number): Promise<RawHandoffs> {
  const keys = lockKeys("lock:floor");
  const contenders: Contender[] = [];
  const granting = await clients[0].script("LOAD", GRANTING_RELEASE) as string;
  for (const client of clients) {
    for (const { source } of [attempt, release]) await client.script("LOAD", source);
    const contender = { client, subscriber: client.duplicate(), channel: `holdfast:${crypto.randomUUID()}` };
    await contender.subscriber.subscribe(contender.channel);
    contenders.push(contender);
  }
  const claim = ({ client, channel }: Contender, owner: string) => {
    return client.evalsha(attempt.sha, 6, ...keys, owner, LEASE, "", `!${channel}`, "");
  };
  let owner: string = crypto.randomUUID();
  await claim(contenders[0]!, owner);
  const [attempted, granted]: [number[], number[]] = [[], []];
  for (let i = 0; i < 2 * times; i++) {
    const [holder, next] = [contenders[i % 2]!, contenders[(i + 1) % 2]!];
    const grants = i % 4 > 1;
    const waiter = crypto.randomUUID();
    if (!Array.isArray(await claim(next, waiter))) throw new Error("the lock was free");
    const running = new Promise<number>((resolve, reject) => {
      next.subscriber.once("message", () => {
        if (grants) return resolve(performance.now());
        claim(next, waiter).then((fence) => {
          if (typeof fence === "string") resolve(performance.now());
          else reject(new Error("the claim was refused"));
        }, reject);
      });
    });
    await pause(IDLE);
    const released = performance.now();
    const freed = grants
      ? holder.client.evalsha(granting, 6, ...keys, owner, LEASE, waiter, next.channel)
      : holder.client.evalsha(release.sha, 5, ...keys.slice(0, 5), owner, LEASE);
    (grants ? granted : attempted).push(await running - released);
    await freed;
    owner = waiter;
  }
  // An even number of times: it is at the first one again.
  await contenders[0]!.client.evalsha(release.sha, 5, ...keys.slice(0, 5), owner, LEASE);
  for (const { subscriber } of contenders) await subscriber.quit();
  return { attempted, granted };
}
