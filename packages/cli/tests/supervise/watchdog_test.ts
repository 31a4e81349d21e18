// Deno only: it replaces functions of the process.
import { assertEquals } from "@std/assert";
import { Watchdog } from "../../src/supervise/watchdog.ts";
import { HAS_STOPPED, ToldLease } from "../../src/supervise/watchdog_main.ts";
import { settled, VirtualClock } from "../../../../tests/support/virtual_clock.ts";
import { FakeChild, FakeProcess, ID } from "./fake_process.ts";

const LEASE = 12_000;

/** A watchdog that is told of a lock whose lease is in the hands of a test. */
function scene() {
  const clock = new VirtualClock();
  const began = clock.now().monotonic;
  const child = new FakeChild();
  const warnings: string[] = [];
  const watchdog = new Watchdog(child.asChild, clock, (message) => warnings.push(message));
  const lock = {
    lost: false,
    signal: new AbortController().signal,
    remaining: () => lock.lost ? 0 : LEASE - (clock.now().monotonic - began),
  };
  return { clock, child, warnings, watchdog, lock };
}

Deno.test("Watchdog tells what remains of the lease and when, twelve times per lease", async () => {
  const { clock, child, watchdog, lock } = scene();
  const { wall } = clock.now();
  watchdog.watch(-5, lock, LEASE);
  await clock.advance(2_500);
  assertEquals(child.told, ["-5\n", `12000 ${wall}\n`, `11000 ${wall + 1_000}\n`, `10000 ${wall + 2_000}\n`]);
});

Deno.test("Watchdog tells nothing of a lock that is lost", async () => {
  const { clock, child, watchdog, lock } = scene();
  watchdog.watch(-5, lock, LEASE);
  lock.lost = true;
  await clock.advance(5_000);
  assertEquals([child.told.length, clock.pending], [2, 0]);
});

Deno.test("Watchdog.standBy() tells that the command is stopped, and no lease after", async () => {
  const { clock, child, watchdog, lock } = scene();
  watchdog.watch(-5, lock, LEASE);
  watchdog.standBy();
  await clock.advance(5_000);
  assertEquals([child.told.slice(2), clock.pending], [["stopping\n"], 0]);
});

Deno.test("Watchdog.end() kills it, and resolves when it is gone", async () => {
  using self = new FakeProcess();
  const { clock, child, warnings, watchdog, lock } = scene();
  watchdog.watch(-5, lock, LEASE);
  let gone = false;
  const ended = watchdog.end().then(() => gone = true);
  await settled();
  assertEquals([self.sent, gone, clock.pending], [[[ID, "SIGKILL"]], false, 0]);
  child.end(null, "SIGKILL");
  await ended;
  assertEquals(warnings, []);
  await watchdog.end();
  assertEquals(self.sent.length, 1, "its id may be that of another process by now");
});

Deno.test("Watchdog warns when it has ended by itself", async () => {
  using self = new FakeProcess();
  const { child, warnings, watchdog } = scene();
  child.end(1);
  assertEquals(warnings, ["the watchdog has ended: nothing stops the command if this process stalls"]);
  await watchdog.end();
  assertEquals(self.sent, []);
});

Deno.test("Watchdog.end() resolves to whether it has stopped the command", async () => {
  using _ = new FakeProcess();
  for (
    const [status, stopped, standsBy] of [[HAS_STOPPED, true, false], [HAS_STOPPED, true, true], [
      0,
      false,
      true,
    ]] as const
  ) {
    const { child, warnings, watchdog, lock } = scene();
    watchdog.watch(-5, lock, LEASE);
    if (standsBy) watchdog.standBy();
    child.end(status);
    assertEquals([await watchdog.end(), await watchdog.end(), warnings], [stopped, stopped, []]);
  }
});

Deno.test("ToldLease counts from when the holder told, not from when that was read", async () => {
  const clock = new VirtualClock();
  const lease = new ToldLease(clock);
  await clock.advance(60_000);
  assertEquals(lease.remaining(), Infinity);
  // It has lain in the pipe for 4 s: both processes stood still.
  lease.tell(10_000, clock.now().wall - 4_000);
  assertEquals(lease.remaining(), 6_000);
  await clock.advance(5_999);
  assertEquals(lease.remaining(), 1);
  await clock.advance(5_000);
  assertEquals(lease.remaining(), 0);
  lease.tell(10_000, clock.now().wall);
  assertEquals(lease.remaining(), 10_000);
  assertEquals(lease.signal.aborted, false);
  lease.fallSilent();
  assertEquals(lease.signal.aborted, true);
});
