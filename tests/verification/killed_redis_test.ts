// Deno only: it stops the clock of a server by a library that it compiles.
import { assert } from "@std/assert";
import { redis } from "@holdfast/lock/redis";
import { SystemClock } from "../../src/time/clock.ts";
import { ProcessClock } from "../support/process_clock.ts";
import { RedisServer } from "../support/redis_server.ts";
import { killProcesses } from "./killed_processes.ts";

/** How many processes are killed. */
const KILLS = 200;

/** When they are to be killed, at least one in each way. */
const PHASES = ["run", "block", "linger", "call"] as const;

/** How often that is tried: when a process is killed depends on the machine. */
const TRIES = 3;

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
  const store = redis(server.connect());
  const missing = new Set(PHASES);
  for (let seed = 1; missing.size > 0 && seed <= TRIES; seed++) {
    const { phases } = await killProcesses({ store, clock, pass, expires: false }, KILLS, seed);
    for (const phase of missing) if (phases[phase] > 0) missing.delete(phase);
  }
  assert(missing.size === 0, `no process was killed in: ${[...missing]}`);
});
