import type { IoredisClient } from "../client.ts";

/** Returns whether an error of ioredis is a reply of the server. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === "ReplyError";
}

/**
 * How many commands are written at once. A larger number saves hardly any system call, and the server idles while a
 * batch is being made. Of 4, 8, 16, 32 and all, 8 and 16 were the fastest with 64 locks at a time.
 */
const BATCH = 16;

/**
 * Writes the commands of one turn of the event loop in few system calls. Clients of ioredis's shape write each command
 * by itself, which costs a busy process more time than everything else about a lock. The first command of a turn is not
 * delayed. A client without a socket (Cluster) writes as before.
 */
export class Writes {
  #commands = 0;
  #corked: IoredisClient["stream"];
  readonly #flush = (): void => {
    this.#commands = 0;
    this.#corked?.uncork?.();
    this.#corked = undefined;
  };

  /** Called before each command. */
  next(socket: IoredisClient["stream"]): void {
    this.#commands++;
    if (this.#commands === 1) queueMicrotask(this.#flush);
    else if (this.#corked === undefined) {
      socket?.cork?.();
      this.#corked = socket;
    } else if (this.#commands % BATCH === 0) {
      this.#corked.uncork?.();
      this.#corked.cork?.();
    }
  }
}
