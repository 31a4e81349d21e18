// Deno only: it starts processes of Deno.
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { until } from "../support/until.ts";
import { Fixture } from "./workers.ts";

/** Nobody waits for it to end. */
const LEASE = 600_000;

const LINGER = 3_000;

Deno.test("cohort() that is killed while it lingers blocks nobody for its whole lease", async () => {
  await using fixture = await Fixture.open("redis");
  const client = fixture.server.connect();
  const worker = await fixture.worker({ keep: LEASE, linger: LINGER });
  await worker.send({ do: "acquire", name: "a", options: { lease: LEASE } });
  await worker.next("granted");
  await worker.send({ do: "release", name: "a" });
  await worker.next("released");
  // Killed in the first millisecond it leaves the lease as it was.
  await until(async () => {
    const left = await client.pttl("lock:a");
    return left > 0 && left <= LINGER + 250;
  }, "the lease is shortened");
  await worker.kill();
  await (await acquire(redis(client), "a", { wait: 60_000 })).release();
});
