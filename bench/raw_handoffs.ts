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
 * Hands a lock to and fro with the scripts and a message, sent as they are: what a handoff costs the client library,
 * the connections and the server, with nothing of Holdfast's own around it. Gives the milliseconds from each release
 * until the next claim is granted.
 */
export async function rawHandoffs(clients: readonly [Redis, Redis], times: number): Promise<number[]> {
  const keys = lockKeys("lock:floor");
  const contenders: Contender[] = [];
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
  const taken: number[] = [];
  for (let i = 0; i < times; i++) {
    const [holder, next] = [contenders[i % 2]!, contenders[(i + 1) % 2]!];
    const waiter = crypto.randomUUID();
    if (!Array.isArray(await claim(next, waiter))) throw new Error("the lock was free");
    const running = new Promise<number>((resolve, reject) => {
      next.subscriber.once("message", () => {
        claim(next, waiter).then((fence) => {
          if (typeof fence === "string") resolve(performance.now());
          else reject(new Error("the claim was refused"));
        }, reject);
      });
    });
    await pause(IDLE);
    const released = performance.now();
    const freed = holder.client.evalsha(release.sha, 5, ...keys.slice(0, 5), owner, LEASE);
    taken.push(await running - released);
    await freed;
    owner = waiter;
  }
  await contenders[times % 2]!.client.evalsha(release.sha, 5, ...keys.slice(0, 5), owner, LEASE);
  for (const { subscriber } of contenders) await subscriber.quit();
  return taken;
}
