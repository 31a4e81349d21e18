import { assert } from "@std/assert";
import { redis } from "@holdfast/lock/redis";
import { SystemClock } from "../../src/internal/clock.ts";
import { RedisServer } from "../support/redis_server.ts";
import { killProcesses } from "./killed_processes.ts";

/** How many processes are killed. */
const KILLS = 200;

Deno.test("acquire() on a server gives fences that rise through 200 kills", async () => {
  await using server = await RedisServer.start();
  const clock = new SystemClock();
  const place = { store: redis(server.connect()), clock, pass: (ms: number) => clock.sleep(ms), expires: false };
  const { phases } = await killProcesses(place, KILLS, 1);
  for (const phase of ["run", "block", "linger", "call"] as const) assert(phases[phase] > 0, phase);
});
