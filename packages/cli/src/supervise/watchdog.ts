import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Clock, Timer } from "../../internal/time/clock.ts";
import { Processes } from "./processes.ts";
import type { StopTimes, Watched } from "./supervision.ts";
import { WATCHDOG_URL, WATCHDOG_WORD } from "./watchdog_main.ts";

/** How often it is told what remains of the lease, as a part of that lease. */
const TELL = 1 / 12;

/** What Deno tells of itself. */
interface Runtime {
  readonly Deno?: { readonly build: { readonly standalone?: boolean } };
}

/**
 * A second process that stops the command when this one cannot: it stands still (SIGSTOP, a stalled event loop, no
 * memory) or was killed with SIGKILL.
 *
 * It is told again and again what remains of the lease, through a pipe that only this process holds open. It stops the
 * command in the same way as this process, half a margin later; and at once when the pipe is closed, which the kernel
 * does for a process that was killed.
 */
export class Watchdog {
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #state: "watching" | "ending" | "ended" = "watching";

  /** Wraps a process that is ready. */
  constructor(child: ChildProcess, clock: Clock, warn: (message: string) => void) {
    this.#process = child;
    this.#clock = clock;
    this.#ended = new Promise((resolve) => {
      child.once("exit", () => {
        if (this.#state === "watching") {
          warn("the watchdog has ended: nothing stops the command if this process stalls");
        }
        this.#state = "ended";
        resolve();
      });
    });
    child.stdin?.on("error", () => {}); // It has ended: nothing can be told any more.
  }

  /** Starts it, and resolves when it is ready. Rejects if that is not possible. */
  static async start(times: StopTimes, clock: Clock, warn: (message: string) => void): Promise<Watchdog> {
    const { graceMs, marginMs } = times;
    const words = [...command(), `${graceMs}`, `${marginMs / 2}`];
    // In a session of its own: Ctrl-C, and what kills the group of this process, must not reach it.
    const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"], detached: true });
    const failed = (reason: string) => new Error(`the watchdog cannot be started: ${reason}`);
    // It says when it listens. One that fails to start must be noticed before there is a command to watch.
    await new Promise<void>((resolve, reject) => {
      child.on("error", ({ message }) => reject(failed(message)));
      child.once("exit", (code, signal) => reject(failed(`it ended with ${signal ?? `status ${code}`}`)));
      child.stdout?.once("data", () => resolve());
    });
    return new Watchdog(child, clock, warn);
  }

  /** Makes it watch the processes that signals with this id reach; they may run while a lock with that lease is held. */
  watch(id: number, lock: Watched, lease: number): void {
    this.#process.stdin?.write(`${id}\n`);
    const tell = () => {
      const left = lock.remaining();
      // Lost: this process has just begun to stop the command, with the whole grace if the lock was revoked.
      if (left <= 0) return;
      this.#process.stdin?.write(`${left} ${this.#clock.now().wall}\n`);
      this.#timer = this.#clock.timer(lease * TELL, tell);
    };
    tell();
  }

  /** Tells it that this process has begun to stop the command. What it was told last of the lease holds on. */
  standBy(): void {
    this.#timer?.cancel();
    this.#process.stdin?.write("stopping\n");
  }

  /** Ends it; resolves when it is gone. */
  async end(): Promise<void> {
    this.#timer?.cancel();
    if (this.#state === "watching") {
      this.#state = "ending";
      // Not by ChildProcess.kill(), which in Deno closes the pipe first: that means that this process is dead.
      if (this.#process.pid !== undefined) new Processes(this.#process.pid).signal("SIGKILL");
    }
    await this.#ended;
  }
}

/** The words behind the name of the runtime that start the program of the watchdog. */
function command(): string[] {
  const { Deno } = globalThis as Runtime;
  if (Deno?.build.standalone) throw new Error("a program made by deno compile cannot start a watchdog");
  if (Deno === undefined) return [fileURLToPath(WATCHDOG_URL), WATCHDOG_WORD];
  const flags = ["--quiet", "--no-prompt", "--no-config", "--no-lock", "--allow-run"];
  return ["run", ...flags, WATCHDOG_URL, WATCHDOG_WORD];
}
