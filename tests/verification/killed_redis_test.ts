// Deno only: it stops the clock of a server by a library that it compiles.
import { assert } from "@std/assert";
import { redis } from "@holdfast/lock/redis";
import { SystemClock } from "../../src/internal/clock.ts";
import { ProcessClock } from "../support/process_clock.ts";
import { RedisServer } from "../support/redis_server.ts";
import { killProcesses } from "./killed_processes.ts";

/** How many processes are killed. */
const KILLS = 200;

Deno.test("acquire() on a server gives fences that rise through 200 kills", async () => {
  using time = await ProcessClock.make();
  await using server = await RedisServer.start([], time.env);
  const clock = new SystemClock();
  let now = Date.now() * 1_000;
  // The server's clock stands still after a kill, so that fences do not rise by the time alone; else there is room for
  // another block each time.
  const pass = (ms: number) => {
    now += ms * 20_000;
    time.stop(now);
    return clock.sleep(Math.max(ms, 3));
  };
  const { phases } = await killProcesses({ store: redis(server.connect()), clock, pass, expires: false }, KILLS, 1);
  for (const phase of ["run", "block", "linger", "call"] as const) assert(phases[phase] > 0, phase);
});
