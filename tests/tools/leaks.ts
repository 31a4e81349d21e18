import { SystemClock } from "../../src/time/clock.ts";
import { HANG_MS } from "../support/until.ts";

/** A timer of the package, made by its clock. */
interface OwnTimer {
  /** When it is due, by the monotonic clock. */
  readonly dueAt: number;
  /** Its stack shows who made the timer. */
  readonly made: Error;
  hasRun: boolean;
}

/** How long the package may pause at most before it looks again whether it is over, in milliseconds. */
const PAUSE_MS = 2_000;

/** The timers of the package that have neither run nor been cancelled. */
const pending = new Set<OwnTimer>();

let isNoting = false;

// Tests replace it, and simulated hosts: what is made on their clocks is over with them.
const { setTimeout } = globalThis;

/** What Deno's own sanitizer goes by. */
const { core }: { core: { resources(): Record<string, string> } } = Reflect.get(Deno, Reflect.get(Deno, "internal"));

/** The resources that outlive the test which has opened them. */
const staying = new Set<string>();

/** Whether tests of this process are run by {@linkcode leavingNothing}; by `deno test` alone they are not. */
export function isSearching(): boolean {
  return isNoting;
}

/** Opens something at once, and returns it with the ids of its resources. */
export function opening<T>(open: () => T): [opened: T, resources: string[]] {
  const before = core.resources();
  const opened = open();
  return [opened, Object.keys(core.resources()).filter((id) => !(id in before))];
}

/** From now on these resources are not left behind by the test which has opened them: the next ones use them. */
export function stays(resources: readonly string[]): void {
  for (const id of resources) staying.add(id);
}

/** Notes from now on which timers the package makes. */
function noteTimers(): void {
  if (isNoting) return;
  isNoting = true;
  const { timer, sleep } = SystemClock.prototype;
  SystemClock.prototype.timer = function (ms, run, from, latest) {
    if (globalThis.setTimeout !== setTimeout) return timer.call(this, ms, run, from, latest);
    const own = noted((from ?? this.now()).monotonic + ms);
    const made = timer.call(this, ms, () => (over(own, true), run()), from, latest);
    return { cancel: () => (over(own, false), made.cancel()) };
  };
  SystemClock.prototype.sleep = async function (ms, signal) {
    if (globalThis.setTimeout !== setTimeout) return await sleep.call(this, ms, signal);
    const own = noted(this.now().monotonic + ms);
    await sleep.call(this, ms, signal);
    over(own, !signal?.aborted);
  };
}

/**
 * Runs a test, and then waits until the package has no timer, and the process no resource, that it did not have before.
 * Throws when that does not happen, or when the package has forgotten a timer, which then runs long after the test.
 *
 * The timers of client libraries do not count: a slow machine still has them when the next test begins.
 *
 * @param limit how long it waits, in milliseconds
 */
export async function leavingNothing(test: () => void | Promise<void>, limit: number = HANG_MS): Promise<void> {
  noteTimers();
  const [timers, resources] = [new Set(pending), core.resources()];
  const left = () => [...pending].filter((timer) => !timers.has(timer));
  const open = () =>
    Object.entries(core.resources()).filter(([id]) => !(id in resources || staying.has(id))).map(([, kind]) => kind);
  await test();
  const ended = performance.now();
  const late = left().filter(({ dueAt }) => dueAt > ended + PAUSE_MS);
  while (left().length + open().length > 0 && performance.now() < ended + limit) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const forgotten = [...new Set([...late.filter(({ hasRun }) => hasRun), ...left()])];
  if (forgotten.length + open().length === 0) return;
  const stacks = forgotten.map(({ made }) => made.stack);
  throw new Error(`the test leaves behind ${forgotten.length} timers and [${open()}]\n${stacks.join("\n")}`);
}

function noted(dueAt: number): OwnTimer {
  const own = { dueAt, made: new Error("a timer"), hasRun: false };
  pending.add(own);
  return own;
}

function over(timer: OwnTimer, hasRun: boolean): void {
  if (pending.delete(timer)) timer.hasRun = hasRun;
}
