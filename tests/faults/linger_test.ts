// Deno only: it starts processes of Deno.
import { assert } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { until } from "../support/until.ts";
import { Fixture } from "./workers.ts";

/** Nobody waits for it to end. */
const ACQUIRE = { do: "acquire", name: "a", options: { lease: 600_000 } } as const;

/** A process that has released its lock, and lingers. */
async function lingering(fixture: Fixture, linger: number) {
  const client = fixture.server.connect();
  const worker = await fixture.worker({ keep: ACQUIRE.options.lease, linger });
  await worker.ask(ACQUIRE, "granted");
  await worker.ask({ do: "release", name: "a" }, "released");
  // In the first millisecond the lease is as it was.
  await until(async () => await client.pttl("lock:a") <= linger + 250, "the lease is shortened, or over");
  return { client, worker };
}

Deno.test("cohort() that is killed while it lingers blocks nobody for its whole lease", async () => {
  await using fixture = await Fixture.open("redis");
  const { client, worker } = await lingering(fixture, 10_000);
  assert(await client.pttl("lock:a") > 0, "it lingers");
  await worker.kill();
  await (await acquire(redis(client), "a", { wait: 60_000 })).release();
});

Deno.test("cohort() that is paused while it lingers does not grant what has ended", async () => {
  await using fixture = await Fixture.open("redis");
  const { client, worker } = await lingering(fixture, 1_000);
  worker.signal("SIGSTOP");
  const lock = await acquire(redis(client), "a", { wait: 60_000 });
  await worker.send(ACQUIRE);
  worker.signal("SIGCONT");
  await worker.next("waiting");
  assert(lock.held, "held");
  await lock.release();
  const { fence } = await worker.next("granted");
  assert(BigInt(fence) > lock.fence, `${fence} after ${lock.fence}`);
  await worker.ask({ do: "release", name: "a" }, "released");
});
