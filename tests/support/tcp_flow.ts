import type { Socket } from "node:net";

/** What becomes of the bytes that go one way through a connection. */
export type Manner =
  | "pass"
  /** They are held back until they may pass. */
  | "hold"
  /** They are lost. */
  | "drop"
  /** They arrive so many milliseconds later. */
  | number;

/** One way through a connection. Bytes arrive in order, whatever the manner and its changes. */
export class Flow {
  readonly #to: Socket;
  readonly #queue: { readonly bytes: Uint8Array; readonly due: number }[] = [];
  #manner: Manner = "pass";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lossy = false;
  #ended = false;

  /** Makes the way to a socket. */
  constructor(to: Socket) {
    this.#to = to;
  }

  /** Whether bytes have been lost: what came after them would be misunderstood. */
  get lossy(): boolean {
    return this.#lossy;
  }

  /** What becomes of the bytes from now on, and of those that are on their way. */
  set manner(manner: Manner) {
    this.#manner = manner;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (manner === "pass") { for (const { bytes } of this.#queue.splice(0)) this.#to.write(bytes); }
    else this.#next();
  }

  /** Bytes have come. */
  push(bytes: Uint8Array): void {
    if (this.#ended) return;
    if (this.#manner === "drop") this.#lossy = true;
    else if (this.#manner === "pass") this.#to.write(bytes);
    else {
      this.#queue.push({ bytes, due: typeof this.#manner === "number" ? performance.now() + this.#manner : 0 });
      if (this.#timer === undefined) this.#next();
    }
  }

  /** Stops passing bytes on: a connection that has closed may be sent something for a moment yet. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue.length = 0;
  }

  #next(): void {
    const head = this.#queue[0];
    if (head === undefined || this.#manner === "hold" || this.#manner === "drop") return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#to.write(head.bytes);
      this.#queue.shift();
      this.#next();
    }, Math.max(0, head.due - performance.now()));
  }
}
