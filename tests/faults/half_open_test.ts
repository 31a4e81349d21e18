// Deno only: it listens on ports in the place of a server.
import { assert } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { RESERVATION_MS, REVOCATIONS } from "../../src/stores/redis/constants.ts";
import { RedisServer } from "../support/redis_server.ts";
import { Wakeups } from "../../src/stores/redis/wakeups/wakeups.ts";
import { tested } from "../stores/redis/tested.ts";
import { subscribed } from "../stores/redis/wakeups/subscribed.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";
import { quickest } from "./quickest.ts";

/** How long the next waiter may take beyond the time that is kept for the one that vanished, in milliseconds. */
const PROMISED = 500;

/**
 * How long it may take that a client which is not woken looks whether a lock is still kept for another one, in
 * milliseconds.
 */
const POLL = 500;

/** How much later than on an idle machine it may be served, in milliseconds. */
const MARGIN = 1_000;

for (const vanished of [1, 3]) {
  Deno.test(`acquire() is served soon after ${vanished} waiters of one client have vanished`, async () => {
    await quickest(PROMISED + MARGIN, async () => {
      await using server = await RedisServer.start();
      await using proxy = await TcpProxy.start(server.port);
      const [holder, vanishing, living] = [server.connect(), proxy.connect(), server.connect()];
      const lock = await acquire(tested(holder), "a", { lease: 60_000 });
      const abort = new AbortController();
      const queued = (count: number) => {
        return until(async () => await holder.zcard("{lock:a}:queue") === count, `${count} are queued`);
      };
      const lost: Promise<unknown>[] = [];
      for (let i = 0; i < vanished; i++) {
        lost.push(acquire(tested(vanishing), "a", { signal: abort.signal }).catch(() => {}));
        await queued(i + 1);
      }
      const waiting = acquire(tested(living), "a");
      await queued(vanished + 1);
      await subscribed(vanishing, living);

      proxy.halfOpen();
      proxy.disturb({ requests: "hold" });
      const channels = (await holder.pubsub("CHANNELS") as unknown[]).filter((channel) => channel !== REVOCATIONS);
      const polls = Wakeups.of(tested(living)).port.subscribers === undefined;
      assert(channels.length === (polls ? 0 : 2), "for the server the vanished client still listens");
      const released = performance.now();
      await lock.release();
      const next = await waiting;
      const after = performance.now() - released;
      assert(after > vanished * RESERVATION_MS / 2, `served after ${after} ms: was the lock ever kept for others?`);
      const kept = RESERVATION_MS + (polls ? POLL : 0);
      await next.release();
      abort.abort("enough");
      await Promise.all(lost);
      proxy.resume();
      await until(async () => (await server.leftovers()).length === 0, "nothing is left");
      return after - vanished * kept;
    });
  });
}
