// Deno only: it listens on ports in the place of a server.
import { assert, assertEquals } from "@std/assert";
import { deadline } from "@std/async";
import { acquire } from "@holdfast/lock";
import { attempt } from "../../src/stores/redis/scripts/generated.ts";
import { ProcessClock } from "../support/process_clock.ts";
import { RedisServer } from "../support/redis_server.ts";
import { acquireWoken } from "../stores/redis/wakeups/acquire_woken.ts";
import { subscribed } from "../stores/redis/wakeups/subscribed.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";

/** Much longer than a test, in milliseconds: nobody is served because a lease has ended. */
const LEASE = 60_000;

/** How long anything may take, in milliseconds: so long only when something is broken. */
const LIMIT = 60_000;

/** Why a wait ends. */
const reason = new Error("enough");

Deno.test("acquire() that is aborted rejects with the reason and leaves the queue", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const holder = await acquire(other, "a", { lease: LEASE });
  const controllers = Array.from({ length: 10 }, () => new AbortController());
  const waiting = controllers.map(({ signal }) => acquire(client, "a", { signal }).catch((error: unknown) => error));
  await until(async () => await other.zcard("{lock:a}:queue") === 10, "all are queued");
  for (const controller of controllers) controller.abort(reason);
  for (const error of await deadline(Promise.all(waiting), LIMIT)) assert(error === reason);
  await until(async () => await other.exists("{lock:a}:queue", "{lock:a}:waiters") === 0, "the queue is empty");
  await holder.release();
  assertEquals(await server.leftovers(), []);
});

for (const crossing of ["message", "reply to its claim"]) {
  Deno.test(`acquire() that is aborted passes its turn on when the ${crossing} is under way`, async () => {
    using time = await ProcessClock.make();
    await using server = await RedisServer.start([], time.env);
    // However slow the machine is, the reservation does not end.
    time.stop(Date.now() * 1_000);
    await using proxy = await TcpProxy.start(server.port);
    const [client, slow] = [server.connect(), proxy.connect()];
    // Else they poll: this is about messages.
    await subscribed(client, slow);
    const holder = await acquire(client, "a", { lease: LEASE });
    const controller = new AbortController();
    const aborted = acquire(slow, "a", { lease: LEASE, signal: controller.signal }).catch((error: unknown) => error);
    await until(async () => await client.zcard("{lock:a}:queue") === 1, "the waiter is queued");
    // Nobody wakes it when a reservation ends.
    const next = acquireWoken(client, "a", LEASE);
    await until(async () => await client.zcard("{lock:a}:queue") === 2, "the next one is queued");

    const claimed = crossing === "message" ? undefined : proxy.stallReply(attempt.sha);
    if (claimed === undefined) proxy.stall();
    await holder.release();
    await claimed;
    // Its turn, but it does not know that yet.
    await until(async () => await client.zcard("{lock:a}:queue") === 1, "the turn is the waiter's");
    controller.abort(reason);
    assert(await deadline(aborted, LIMIT) === reason);
    // Only the reply proves that a call is over: a request that was sent later might overtake it.
    if (claimed !== undefined) proxy.resume();
    const lock = await next;
    await lock.release();
    assertEquals(await server.leftovers(), []);
  });
}
