/**
 * The program of the watchdog: `watchdog_main.ts holdfast-watchdog GRACE_MS MARGIN_MS`, where the first word names it
 * in lists of processes. It says when it is ready.
 *
 * The first line of its input is the id of the processes to stop. Each further line is the rest of the lease and the
 * time for which it is true, or `stopping` when the holder has sent SIGTERM itself: a second SIGTERM makes some
 * programs end without cleaning up.
 *
 * @module
 */
import process from "node:process";
import { type Clock, elapsed, type Instant, SystemClock } from "../time/clock.ts";
import { Processes, type Signal } from "./processes.ts";
import { Supervision, type Watched } from "./supervision.ts";

/** The place of this program. It is imported so that the program is packed with the rest. */
export const WATCHDOG_URL: string = import.meta.url;

/** The first argument, without which this file does nothing. */
export const WATCHDOG_WORD = "holdfast-watchdog";

/** The exit status when the watchdog, and not the holder, has begun to stop the command. */
export const HAS_STOPPED = 3;

/** The lease, as last told by the holder. */
export class ToldLease implements Watched {
  readonly #clock: Clock;
  #ms = Infinity;
  #at: Instant;
  /** Whether the holder has begun to stop the command. */
  stopping = false;
  readonly #silence = new AbortController();

  /** Creates a lease that has no end until the holder tells one. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
  }

  /** Aborts when the holder can no longer tell. */
  get signal(): AbortSignal {
    return this.#silence.signal;
  }

  /** Returns the milliseconds until the lease ends, by the last word of the holder. */
  remaining(): number {
    return Math.max(0, this.#ms - elapsed(this.#at, this.#clock.now()));
  }

  /** Stores the rest of the lease at that time of the wall clock, which the two processes share. */
  tell(ms: number, wall: number): void {
    this.#ms = ms;
    this.#at = { monotonic: this.#clock.now().monotonic, wall };
  }

  /** Marks the holder as gone. */
  fallSilent(): void {
    this.#silence.abort();
  }
}

/**
 * Watches a command, of which only the processes to signal are known: from the first signal on it waits until none is
 * left.
 */
async function watch(processes: Processes, lease: ToldLease, clock: Clock): Promise<void> {
  let stopped = () => {};
  let status: number | undefined;
  const ended = new Promise<void>((resolve) => stopped = resolve);
  const command = {
    ended,
    get alive(): boolean {
      return processes.alive;
    },
    signal(name: Signal): void {
      status ??= lease.stopping ? 0 : HAS_STOPPED;
      if (name !== "SIGTERM" || !lease.stopping) processes.signal(name);
      stopped();
    },
  };
  const [graceMs = 0, marginMs = 0] = process.argv.slice(3).map(Number);
  await new Supervision(command, lease, { graceMs, marginMs, clock }).watch();
  process.exit(status);
}

/** Reads the lines of the holder. */
function main(): void {
  const clock = new SystemClock();
  const lease = new ToldLease(clock);
  let id = 0;
  let watching: Promise<void> | undefined;
  const onLine = (line: string) => {
    const [first = 0, second] = line.split(" ").map(Number);
    if (line === "stopping") {
      lease.stopping = true;
    } else if (second === undefined) {
      id = first;
    } else {
      lease.tell(first, second);
      watching ??= watch(new Processes(id), lease, clock);
    }
  };
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (text) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
  });
  process.stdin.on("end", () => {
    // The holder has not started anything yet.
    if (watching === undefined) process.exit(0);
    lease.fallSilent();
  });
  process.stdout.write("ready\n");
}

if (process.argv[2] === WATCHDOG_WORD) main();
