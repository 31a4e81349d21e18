// Deno only: it tests a tool for Deno.
import { assert, assertRejects } from "@std/assert";
import { SystemClock, type Timer } from "../../src/time/clock.ts";
import { HANG_MS } from "../support/until.ts";
import { leavingNothing } from "./leaks.ts";

/** Longer than a test, and shorter than the limit of one, in milliseconds. */
const LONG_MS = 600_000;

const clock = new SystemClock();

/** Runs a test that leaves something behind, for at most so many milliseconds. Returns what is said of that. */
async function said(test: () => void, limit = 0): Promise<string> {
  const { message } = await assertRejects(() => leavingNothing(test, limit), Error, "the test leaves behind");
  return message;
}

Deno.test("leavingNothing() finds a timer of the package, and says who made the timer", async () => {
  let timer = clock.timer(LONG_MS, () => {});
  timer.cancel();
  const message = await said(function forgets() {
    timer = clock.timer(LONG_MS, () => {});
  });
  timer.cancel();
  assert(message.includes("1 timers and []"), message);
  assert(message.includes("at forgets"), message);
});

Deno.test("leavingNothing() finds timers that follow each other, and a sleep", async () => {
  let timer: Timer | undefined;
  const poll = () => void (timer = clock.timer(1, poll));
  assert((await said(poll, 50)).includes("1 timers and []"));
  timer?.cancel();
  const controller = new AbortController();
  assert((await said(() => void clock.sleep(LONG_MS, controller.signal))).includes("1 timers and []"));
  controller.abort();
});

Deno.test("leavingNothing() finds a timer that runs long after the test", async () => {
  // Later than the package may pause, although the machine stands still when the timer has been made.
  assert((await said(() => void clock.timer(5_000, () => {}), HANG_MS)).includes("1 timers and []"));
});

Deno.test("leavingNothing() finds a file that is open", async () => {
  const files: Deno.FsFile[] = [];
  const message = await said(() => void files.push(Deno.openSync(new URL(import.meta.url))));
  files.forEach((file) => file.close());
  assert(message.includes("0 timers and [fsFile]"), message);
});

Deno.test("leavingNothing() waits for the end of what the package does behind a test", async () => {
  await leavingNothing(() => {
    const timer = clock.timer(LONG_MS, () => {});
    const controller = new AbortController();
    void clock.sleep(LONG_MS, controller.signal);
    clock.timer(20, () => (timer.cancel(), controller.abort()));
  });
});

Deno.test("leavingNothing() counts neither timers of others nor those made before", async () => {
  const before = clock.timer(LONG_MS, () => {});
  const others: ReturnType<typeof setTimeout>[] = [];
  await leavingNothing(() => void others.push(setTimeout(() => {}, LONG_MS)), 0);
  before.cancel();
  others.forEach(clearTimeout);
});

Deno.test("leavingNothing() rejects as the test does", async () => {
  await assertRejects(() => leavingNothing(() => Promise.reject(new Error("failed"))), Error, "failed");
});
