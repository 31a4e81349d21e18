import { assert } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { CLAIM, EVICTED } from "../../src/stores/redis/scripts.ts";
import { RedisServer } from "../redis_server.ts";
import { TcpProxy } from "./tcp_proxy.ts";
import { until } from "./until.ts";

/** How long the next waiter may take beyond the time that is kept for the one that vanished, in milliseconds. */
const PROMISED = 500;

/** How much later than on an idle machine it may be served, in milliseconds. */
const MARGIN = 1_000;

Deno.test("acquire() is served soon after the waiter ahead has vanished without a word", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const [holder, vanishing, living] = [server.connect(), proxy.connect(), server.connect()];
  const lock = await acquire(holder, "a", { lease: 60_000 });
  const abort = new AbortController();
  const lost = acquire(vanishing, "a", { signal: abort.signal }).catch(() => {});
  await until(async () => await holder.zcard("{lock:a}:queue") === 1, "the first waiter is queued");
  const waiting = acquire(living, "a");
  await until(async () => await holder.zcard("{lock:a}:queue") === 2, "the second waiter is queued");

  proxy.halfOpen();
  proxy.refuse();
  const channels = (await holder.pubsub("CHANNELS") as unknown[]).filter((channel) => channel !== EVICTED);
  assert(channels.length === 2, "for the server the vanished waiter still listens");
  const released = performance.now();
  await lock.release();
  const next = await waiting;
  const after = performance.now() - released;
  assert(after > CLAIM / 2, `served after ${after} ms: was the lock ever kept for the vanished waiter?`);
  assert(after < CLAIM + PROMISED + MARGIN, `served after ${after} ms`);
  await next.release();
  abort.abort("enough");
  await lost;
});
