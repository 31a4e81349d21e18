import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Clock, Timer } from "../time/clock.ts";
import { Processes } from "./processes.ts";
import type { StopTimes, Watched } from "./supervision.ts";
import { HAS_STOPPED, WATCHDOG_URL, WATCHDOG_WORD } from "./watchdog_main.ts";

/** How often the watchdog is told the rest of the lease, as a part of the lease. */
const TELL = 1 / 12;

/** The part of `Deno` that is used. */
interface Runtime {
  readonly Deno?: { readonly build: { readonly standalone?: boolean } };
}

/**
 * A second process that stops the command when this process cannot, because it stands still (SIGSTOP, a stalled event
 * loop, no memory) or was killed with SIGKILL.
 *
 * This process tells it the rest of the lease regularly, through a pipe that no other process holds open. The watchdog
 * stops the command in the same way as this process, half a margin later; and at once when the pipe is closed, as the
 * kernel does for a killed process.
 */
export class Watchdog {
  readonly #process: ChildProcess;
  /** Resolves at its end, to whether it has stopped the command. */
  readonly #ended: Promise<boolean>;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #state: "watching" | "ending" | "ended" = "watching";

  /** Wraps a watchdog process that is ready. */
  constructor(child: ChildProcess, clock: Clock, warn: (message: string) => void) {
    this.#process = child;
    this.#clock = clock;
    this.#ended = new Promise((resolve) => {
      child.once("exit", (code) => {
        // With 0 it ends when the command has been stopped by this process.
        if (this.#state === "watching" && code !== 0 && code !== HAS_STOPPED) {
          warn("the watchdog has ended: nothing stops the command if this process stalls");
        }
        this.#state = "ended";
        resolve(code === HAS_STOPPED);
      });
    });
    child.stdin?.on("error", () => {}); // It has ended: nothing can be told any more.
  }

  /** Starts the watchdog, and resolves when it is ready. Rejects if it cannot start. */
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

  /** Makes it watch the processes with this id; they may run while a lock with this lease is held. */
  watch(id: number, lock: Watched, lease: number): void {
    this.#process.stdin?.write(`${id}\n`);
    const tell = () => {
      const left = lock.remaining();
      // Lost: this process has just begun to stop the command, with the whole grace if the lock was revoked.
      if (left <= 0) return;
      const now = this.#clock.now();
      this.#process.stdin?.write(`${left} ${now.wall}\n`);
      this.#timer = this.#clock.timer(lease * TELL, tell, now, lease * TELL);
    };
    tell();
  }

  /** Tells it that this process has begun to stop the command. The last told end of the lease still counts. */
  standBy(): void {
    this.#timer?.cancel();
    this.#process.stdin?.write("stopping\n");
  }

  /**
   * Ends the watchdog. Resolves when it is gone, to whether it has stopped the command because this process stood
   * still; it may have ended by itself.
   */
  async end(): Promise<boolean> {
    this.#timer?.cancel();
    if (this.#state === "watching") {
      this.#state = "ending";
      // Not by ChildProcess.kill(), which in Deno closes the pipe first: that means that this process is dead.
      if (this.#process.pid !== undefined) new Processes(this.#process.pid).signal("SIGKILL");
    }
    return await this.#ended;
  }
}

/** Returns the words after the name of the runtime that start the watchdog's program. */
function command(): string[] {
  const { Deno } = globalThis as Runtime;
  if (Deno?.build.standalone) throw new Error("a program made by deno compile cannot start a watchdog");
  if (Deno === undefined) return [fileURLToPath(WATCHDOG_URL), WATCHDOG_WORD];
  const flags = ["--quiet", "--no-prompt", "--no-config", "--no-lock", "--allow-run"];
  return ["run", ...flags, WATCHDOG_URL, WATCHDOG_WORD];
}
