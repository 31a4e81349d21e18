/**
 * The program of the watchdog: `watchdog_main.ts holdfast-watchdog GRACE_MS MARGIN_MS`, where the first word shows what it
 * is to those who list processes. It says when it is ready.
 *
 * The first line of its input is the id of what it may have to stop. Each further line is what remains of the lease and
 * the time at which that was so, or `stopping` when the holder has sent SIGTERM itself: a second one makes some programs
 * end without cleaning up.
 *
 * @module
 */
import process from "node:process";
import { type Clock, elapsed, type Instant, SystemClock } from "../../internal/time/clock.ts";
import { Processes, type Signal } from "./processes.ts";
import { Supervision, type Watched } from "./supervision.ts";

/** Where this program is: imported for that, so that it is packed with the rest. */
export const WATCHDOG_URL: string = import.meta.url;

/** The first argument, without which this file does nothing. */
export const WATCHDOG_WORD = "holdfast-watchdog";

/** The lease as far as the holder has told. */
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

  /** Aborts when the holder cannot tell any more. */
  get signal(): AbortSignal {
    return this.#silence.signal;
  }

  /** Returns the milliseconds until the lease ends, as far as the holder has told. */
  remaining(): number {
    return Math.max(0, this.#ms - elapsed(this.#at, this.#clock.now()));
  }

  /** Takes note of what remained at that time of the wall clock, which the two processes share. */
  tell(ms: number, wall: number): void {
    this.#ms = ms;
    this.#at = { monotonic: this.#clock.now().monotonic, wall };
  }

  /** Notes that the holder is gone. */
  fallSilent(): void {
    this.#silence.abort();
  }
}

/** Watches a command of which it is only known what reaches it: from the first signal on it waits until nothing is left. */
async function watch(processes: Processes, lease: ToldLease, clock: Clock): Promise<void> {
  let stopped = () => {};
  const ended = new Promise<void>((resolve) => stopped = resolve);
  const command = {
    ended,
    get alive(): boolean {
      return processes.alive;
    },
    signal(name: Signal): void {
      if (name !== "SIGTERM" || !lease.stopping) processes.signal(name);
      stopped();
    },
  };
  const [graceMs = 0, marginMs = 0] = process.argv.slice(3).map(Number);
  await new Supervision(command, lease, { graceMs, marginMs, clock }).watch();
  process.exit(0);
}

/** Reads what the holder tells. */
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
