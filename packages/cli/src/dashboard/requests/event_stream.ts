import type { Clock, Timer } from "../../time/clock.ts";
import { HEADERS } from "./responses.ts";

/**
 * How often to send something, in milliseconds, so that a broken connection is noticed and a proxy keeps a quiet
 * connection.
 */
const HEARTBEAT_MS = 15_000;

/** How long a browser waits before it connects again, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Sends an event with data to the browser. An event that the browser has not taken yet is replaced by the next of its
 * kind.
 */
export type Send = (event: string, data: unknown) => void;

/** A stream of server-sent events to one browser. */
export class EventStream {
  /** The response that sends the events. */
  readonly response: Response;
  readonly #clock: Clock;
  readonly #encoder = new TextEncoder();
  readonly #pending = new Map<string, string>([["", `retry: ${RETRY_MS}\n\n`]]);
  readonly #ended: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #heartbeat: Timer | undefined;

  /** Creates a stream. Calls `ended` once at its end: the browser is gone, or {@linkcode close} was called. */
  constructor(clock: Clock, ended: () => void) {
    this.#clock = clock;
    this.#ended = ended;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        this.#beat();
      },
      pull: () => this.#flush(),
      cancel: () => this.#end(),
    });
    this.response = new Response(body, {
      headers: { ...HEADERS, "content-type": "text/event-stream", "x-accel-buffering": "no" },
    });
  }

  /** Sends an event. */
  send(event: string, data: unknown): void {
    this.#pending.delete(event);
    this.#pending.set(event, `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    this.#flush();
  }

  /** Ends the stream. */
  close(): void {
    const controller = this.#controller;
    this.#end();
    controller?.close();
  }

  #flush(): void {
    for (const [event, text] of this.#pending) {
      // A slow browser gets the latest state, not all that were before.
      if (this.#controller === undefined || (this.#controller.desiredSize ?? 0) <= 0) return;
      this.#pending.delete(event);
      this.#controller.enqueue(this.#encoder.encode(text));
    }
  }

  #beat(): void {
    this.#heartbeat = this.#clock.timer(HEARTBEAT_MS, () => {
      this.#pending.set("", ":\n\n");
      this.#flush();
      this.#beat();
    });
  }

  #end(): void {
    if (this.#controller === undefined) return;
    this.#controller = undefined;
    this.#heartbeat?.cancel();
    this.#ended();
  }
}
