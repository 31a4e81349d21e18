// Deno only: it starts processes of Deno.
import { assert } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { until } from "../support/until.ts";
import { Fixture } from "./workers.ts";

/** Nobody waits for it to end. */
const LEASE = 600_000;

const LINGER = 1_000;

Deno.test("cohort() that is paused while it lingers does not grant what has ended", async () => {
  await using fixture = await Fixture.open("redis");
  const client = fixture.server.connect();
  const worker = await fixture.worker({ keep: LEASE, linger: LINGER });
  const acquiring = { do: "acquire", name: "a", options: { lease: LEASE } } as const;
  await worker.send(acquiring);
  await worker.next("granted");
  await worker.send({ do: "release", name: "a" });
  await worker.next("released");
  // Paused in the first millisecond it leaves the lease as it was.
  await until(async () => await client.pttl("lock:a") <= LINGER + 250, "the lease is shortened, or over");
  worker.signal("SIGSTOP");
  const lock = await acquire(redis(client), "a", { wait: 60_000 });
  await worker.send(acquiring);
  worker.signal("SIGCONT");
  await worker.next("waiting");
  assert(lock.held, "held");
  await lock.release();
  const { fence } = await worker.next("granted");
  assert(BigInt(fence) > lock.fence, `${fence} after ${lock.fence}`);
  await worker.send({ do: "release", name: "a" });
  await worker.next("released");
});
