// Deno only: it moves the clock of a server by a library that it compiles.
import { assert, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, LockLostError } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { closed, RedisServer } from "../support/redis_server.ts";
import { ProcessClock } from "../support/process_clock.ts";
import { HANG_MS, until } from "../support/until.ts";

const HOUR = 3_600_000;

/** How long locks are leased whose end is waited for, and how often all are renewed, in milliseconds. */
const [LEASE, RENEW] = [10_000, 200];

/** A server whose wall clock can be set while it runs. */
class ShiftedServer implements AsyncDisposable {
  readonly server: RedisServer;
  readonly #clock: ProcessClock;

  private constructor(server: RedisServer, clock: ProcessClock) {
    this.server = server;
    this.#clock = clock;
  }

  static async start(): Promise<ShiftedServer> {
    const clock = await ProcessClock.make();
    try {
      return new ShiftedServer(await RedisServer.start([], clock.env), clock);
    } catch (error) {
      clock[Symbol.dispose]();
      throw error;
    }
  }

  /** Sets the clock to the true time and `ms` milliseconds. */
  async shift(ms: number): Promise<void> {
    this.#clock.shift(ms);
    const client = this.server.connect();
    const before = Date.now();
    const [seconds] = await client.time();
    const time = Number(seconds) * 1_000 - ms;
    assert(time > before - 2_000 && time <= Date.now() + 1_000, `the server's clock is off: was the library loaded?`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.#clock[Symbol.dispose]();
  }
}

Deno.test("Lock finds its end at the next renewal when the server's clock is set forward", async () => {
  await using shifted = await ShiftedServer.start();
  const { server } = shifted;
  const [client, other] = [server.connect(), server.connect()];
  const long = await acquire(client, "long", { lease: 60_000, renew: RENEW });
  const contended = await acquire(client, "contended", { lease: LEASE, renew: RENEW });
  const waiting = acquire(other, "contended", { lease: 60_000, wait: HANG_MS });
  await queued(other, "contended");

  await shifted.shift(HOUR);
  // By its next renewal, long before its lease ends.
  await until(() => long.signal.aborted, "the holder is notified");
  assertInstanceOf(long.signal.reason, LockLostError);
  await assertRejects(() => long.release(), LockLostError);
  const next = await acquire(other, "long", { wait: HANG_MS });
  assert(next.fence > long.fence);
  await next.release();

  const served = await waiting;
  // Its next renewal may come after the waiter was served: the server alone knows that the clock was set.
  await until(() => contended.signal.aborted, "the holder is notified");
  assertInstanceOf(contended.signal.reason, LockLostError);
  assert(served.fence > contended.fence);
  await assertRejects(() => contended.release(), LockLostError);
  await served.extend();
  await served.release();
});

Deno.test("fences rise and waiters are served when the server's clock is set back and forth", async () => {
  await using shifted = await ShiftedServer.start();
  const { server } = shifted;
  const [client, other] = [server.connect(), server.connect()];
  let [last, before] = [0n, 0];
  for (const shift of [0, -HOUR, HOUR, -HOUR, 0]) {
    // The waiter looks again when this lease would end, in case its place in the queue has expired.
    const holder = await acquire(client, "a", { lease: LEASE, renew: RENEW });
    assert(holder.fence > last, `${holder.fence} after ${last}`);
    const waiting = acquire(other, "a", { lease: 60_000, wait: HANG_MS });
    await queued(other, "a");
    await shifted.shift(shift);
    if (shift <= before) await holder.extend();
    await holder.release().catch((error) => assert(shift > before && error instanceof LockLostError, `${error}`));
    const next = await waiting;
    assert(next.fence > holder.fence, `${next.fence} after ${holder.fence}`);
    await next.extend();
    await next.release();
    [last, before] = [next.fence, shift];
  }
});

Deno.test("acquire() is served when the holder dies after the server's clock was set back", async () => {
  await using shifted = await ShiftedServer.start();
  const { server } = shifted;
  const [client, other] = [server.connect(), server.connect()];
  const lock = await acquire(client, "a", { lease: LEASE, renew: RENEW });
  await shifted.shift(-HOUR);
  // The first renewal after that puts right when the lease ends.
  await lock.extend();
  await closed(client);
  const next = await acquire(other, "a", { wait: HANG_MS });
  assert(next.fence > lock.fence);
  await next.release();
  await until(() => lock.signal.aborted, "the holder is notified");
});

async function queued(client: Redis, name: string): Promise<void> {
  await until(async () => await client.zcard(`{lock:${name}}:queue`) === 1, "the waiter is queued");
}
