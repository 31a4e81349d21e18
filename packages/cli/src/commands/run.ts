import process from "node:process";
import { acquire, type Lock, LockConflictError, LockLostError, LockTimeoutError, StoreError } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import { type Clock, SystemClock } from "../time/clock.ts";
import { LATE, within } from "../time/within.ts";
import { showDuration } from "../display/duration.ts";
import { diagnosed } from "../terminal/answer.ts";
import { type Invocation, UsageError, type Verb } from "../command.ts";
import { heldBy } from "../locks/held_by.ts";
import type { OpenedStore } from "../schemes/scheme.ts";
import { json, oneLine, shown } from "../terminal/shown.ts";
import { Child } from "../supervise/child.ts";
import { Signals } from "../supervise/signals.ts";
import { Supervision } from "../supervise/supervision.ts";
import { Watchdog } from "../supervise/watchdog.ts";
import { trackCalls } from "../supervise/track_calls.ts";
import { readRunRequest, RUN_OPTIONS, type RunRequest } from "./run_options.ts";

/** The exit statuses of `holdfast run` itself, with the values of `sysexits.h` where it has one. */
const STATUS = {
  /** The store could not be reached, or refused: the command was not started. */
  unavailable: 69,
  /** The lock was busy: the command was not started. */
  busy: 75,
  /** The lock was lost while the command ran, or the command was stopped because the lock could not be renewed. */
  lost: 76,
  /** The command was found but cannot be executed. */
  notExecutable: 126,
  /** The command was not found. */
  notFound: 127,
} as const;

/** How long it waits before it says on a terminal who holds the lock, in milliseconds. */
const SAY_WAITING_MS = 3_000;

/** How long to wait for the clean-up of a failed call, in milliseconds. */
const UNDO_MS = 1_000;

/** Says something to the user, on the standard error: the standard output belongs to the command. */
type Report = (event: keyof typeof STATUS | "warning" | "waiting", message: string) => void;

/** Runs a command while it holds a lock. */
export const run: Verb = {
  name: "run",
  summary: "Run a command while holding a lock, and stop it before the lock is lost",
  usage: "NAME [options] -- COMMAND…",
  options: RUN_OPTIONS,
  examples: [
    { line: "holdfast run nightly-report -- ./report.sh", what: "one at a time, on all machines" },
    { line: "holdfast run nightly-report --wait 0 -- ./report.sh", what: "only if nobody else does; status 75 if so" },
    {
      line: "holdfast run nightly-report --wait 0 --quiet --at-least 5m -- ./report.sh",
      what: "for cron: no mail if so, and once although the clocks of the machines differ",
    },
    { line: "holdfast run thumbnails --permits 3 -- ./resize.sh", what: "three at a time" },
    { line: `holdfast run deploy -- sh -c 'deploy --fence "$HOLDFAST_FENCE"'`, what: "pass the fence on" },
  ],
  statuses: {
    0: "the command ended with 0; every other status of the command is passed on as well",
    [STATUS.unavailable]: "the store failed; the command was not started",
    [STATUS.busy]: "the lock was busy; the command was not started",
    [STATUS.lost]: "the lock was lost while the command ran, or about to be, and the command was stopped",
    [STATUS.notExecutable]: "the command cannot be executed",
    [STATUS.notFound]: "the command was not found",
  },
  run: runCommand,
};

async function runCommand(invocation: Invocation): Promise<number> {
  const request = readRunRequest(invocation);
  const { terminal } = invocation;
  const report: Report = (event, message) =>
    terminal.err(terminal.json ? json({ event, name: request.name, message }) : `holdfast: ${oneLine(message)}`);
  const signals = new Signals((message) => report("warning", message));
  try {
    const opened = await invocation.store();
    const { store, idle } = trackCalls(opened.store);
    const clock = new SystemClock();
    const holder = () => heldBy(opened, request.name, clock);
    const stopSaying = terminal.attended === true && !request.quiet
      ? sayWaiting(request, holder, clock, report)
      : () => {};
    const lock = await acquireLock({ ...opened, store }, request, holder, signals, invocation.signal, report).finally(
      () => {
        stopSaying();
        return idle(UNDO_MS, clock);
      },
    );
    return typeof lock === "number" ? lock : await runUnder(lock, clock, request, signals, report);
  } finally {
    signals.close();
  }
}

/** Says once who holds the lock, if the wait is long. Returns a function that ends this. */
function sayWaiting(
  { name }: RunRequest,
  holder: () => Promise<string | undefined>,
  clock: Clock,
  report: Report,
): () => void {
  let waits = true;
  const timer = clock.timer(SAY_WAITING_MS, async () => {
    const held = await holder();
    if (waits) report("waiting", `waiting for ${shown(name)}${held === undefined ? "" : `, ${held}`}`);
  });
  return () => {
    waits = false;
    timer.cancel();
  };
}

/** Acquires the lock. Resolves to the exit status if that fails. */
async function acquireLock(
  opened: OpenedStore,
  { name, lock, quiet }: RunRequest,
  holder: () => Promise<string | undefined>,
  signals: Signals,
  signal: AbortSignal,
  report: Report,
): Promise<Lock | number> {
  const failed = (event: keyof typeof STATUS, error: unknown) => {
    report(event, reason(error));
    return STATUS[event];
  };
  try {
    return await acquire(opened.store, name, { ...lock, signal: AbortSignal.any([signals.interruption, signal]) });
  } catch (error) {
    if (signals.status !== undefined) return signals.status;
    if (signal.aborted) throw error;
    if (error instanceof LockTimeoutError) {
      if (!quiet) {
        const waited = lock.wait ? ` within ${showDuration(lock.wait)}` : "";
        const busy = async () => `${waited}: ${shown(name)} is ${await holder() ?? "busy"}`;
        // The store has not answered since: the error says why.
        report("busy", `the command was not run${error.cause === undefined ? await busy() : `: ${error.message}`}`);
      }
      return STATUS.busy;
    }
    if (error instanceof StoreError) return failed("unavailable", await diagnosed(opened, error));
    // The options ask for something that is impossible here.
    if (error instanceof LockConflictError || error instanceof TypeError || error instanceof RangeError) {
      throw new UsageError(error.message);
    }
    throw error;
  }
}

/** Runs the command under the lock, and then releases the lock. Resolves to the exit status. */
async function runUnder(
  lock: Lock,
  clock: Clock,
  request: RunRequest,
  signals: Signals,
  report: Report,
): Promise<number> {
  const ended = await superviseCommand(lock, clock, request, signals, report);
  if (typeof ended === "number") {
    await release(lock, clock, report);
    return ended;
  }
  const { status, stop } = ended;
  const reportLoss = (why: string, how: string) => {
    report("lost", `${why}; the command ${how}, and its status ${status} is not passed on`);
    return STATUS.lost;
  };
  if (stop !== "not stopped") {
    // Said only now: to write to a pipe that nobody reads may block, and nothing may delay SIGKILL.
    reportLoss(stop === BY_WATCHDOG ? "This process stood still" : whyStopped(lock), `was ${stop}`);
    await release(lock, clock, report, stop);
    return STATUS.lost;
  }
  const loss = await release(lock, clock, report);
  return loss === undefined ? status : reportLoss(loss.message, "had ended");
}

/** Returns why a command was stopped. */
function whyStopped({ name, signal }: Lock): string {
  const { reason } = signal;
  if (reason instanceof LockLostError) return reason.message;
  return `Lock "${name}" could not be renewed, and its lease was about to end`;
}

/** The words for a command that ended while this process stood still. */
const BY_WATCHDOG = "stopped by the watchdog";

/** How a command that was started ended. */
interface Ending {
  readonly status: number;
  readonly stop: "not stopped" | "stopped" | "killed" | typeof BY_WATCHDOG;
}

/** Starts the command and waits for its end. Resolves to the exit status if it was not started. */
async function superviseCommand(
  lock: Lock,
  clock: Clock,
  request: RunRequest,
  signals: Signals,
  report: Report,
): Promise<Ending | number> {
  const { name, command, lease, times, foreground } = request;
  let watchdog: Watchdog | undefined;
  try {
    if (request.watchdog) watchdog = await Watchdog.start(times, clock, (message) => report("warning", message));
    if (signals.status !== undefined) return signals.status;
    const env = { ...process.env, HOLDFAST_NAME: name, HOLDFAST_FENCE: `${lock.fence}` };
    const onStart = (child: Child) => {
      watchdog?.watch(child.id, lock, lease);
      signals.passTo(child);
    };
    const child = await Child.start(command, { env, foreground, onStart });
    const onStop = () => watchdog?.standBy();
    const stop = await new Supervision(child, lock, { ...times, clock, onStop }).watch();
    const status = await child.ended;
    return { status, stop: await watchdog?.end() ? BY_WATCHDOG : stop };
  } catch (error) {
    return notStarted(error, request, report);
  } finally {
    await watchdog?.end();
  }
}

/** Reports why the command was not started, and returns the exit status that shells use. */
function notStarted(error: unknown, { command }: RunRequest, report: Report): number {
  const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
  const event = missing ? "notFound" : "notExecutable";
  report(event, `Cannot run ${JSON.stringify(command[0])}: ${missing ? "command not found" : reason(error)}`);
  return STATUS[event];
}

/**
 * Releases the lock, or waits until its lease has ended: then the release is not needed. Resolves to how the lock was
 * lost, if it was.
 */
async function release(
  lock: Lock,
  clock: Clock,
  report: Report,
  stop: Ending["stop"] = "not stopped",
): Promise<LockLostError | undefined> {
  try {
    await within(lock.remaining(), lock.release(), clock);
    return undefined;
  } catch (error) {
    if (error instanceof LockLostError) return error;
    const why = error === LATE ? `Lock "${lock.name}" was not released before the end of its lease` : reason(error);
    // The command has ended, and its status counts. The message that the lock was about to be lost was written when the
    // command was stopped.
    if (stop === "not stopped") report("warning", error === LATE ? why : `${why}: it ends with its lease`);
    return undefined;
  }
}
