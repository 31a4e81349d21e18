import { drift } from "../../store.ts";
import { elapsed, type Instant } from "../../internal/time/clock.ts";
import type { FoundDocument } from "./backend.ts";
import { type LockDocument, parseDocument } from "./document.ts";

/** For how long a document is remembered, in milliseconds: a key that was removed and made anew may repeat a version. */
const REMEMBERED_MS = 60_000;

/** How far the clocks of a process may move apart, in milliseconds, before what it remembers is worth nothing. */
const APART_MS = 1_000;

const ENCODER = new TextEncoder();

/** How many bytes of UTF-8 a character of a string takes at the most. */
const BYTES_PER_CHARACTER = 3;

/** Returns how long a text is, in bytes of UTF-8. */
export function bytesOf(text: string): number {
  return ENCODER.encode(text).length;
}

/** A document as the backend had it once. */
export class Sighting {
  readonly #name: string;
  readonly #found: FoundDocument;
  readonly #sentAt: Instant;
  #document: LockDocument | undefined;

  /**
   * Notes what a reply says.
   *
   * @param sentAt when the request was sent that brought it
   * @param document the document that the value is the text of, which nobody else changes any more
   */
  constructor(name: string, found: FoundDocument, sentAt: Instant, document?: LockDocument) {
    this.#name = name;
    this.#found = found;
    this.#sentAt = sentAt;
    this.#document = document;
  }

  get version(): unknown {
    return this.#found.version;
  }

  /** Returns how long the text is, in bytes of UTF-8. */
  bytes(): number {
    return bytesOf(this.#found.value ?? "");
  }

  /** Returns whether the text is longer than so many bytes. */
  isLongerThan(bytes: number): boolean {
    const { length } = this.#found.value ?? "";
    return length > bytes || length * BYTES_PER_CHARACTER > bytes && this.bytes() > bytes;
  }

  /** The server's clock when it answered, where it has one. */
  get time(): number | undefined {
    return this.#found.time;
  }

  /** The document, to be looked at. */
  get document(): LockDocument {
    return this.#document ??= parseDocument(this.#name, this.#found.value);
  }

  /** Returns the document, to be changed. */
  take(): LockDocument {
    const { document } = this;
    this.#document = undefined;
    return document;
  }

  /**
   * Notes what the reply to a write over it says. If that does not tell the time, the older one counts: where the server
   * has a clock, no other one must take its place.
   */
  replaced(found: FoundDocument, sentAt: Instant, document?: LockDocument): Sighting {
    const isTimed = found.time !== undefined || this.time === undefined;
    if (isTimed) return new Sighting(this.#name, found, sentAt, document);
    return new Sighting(this.#name, { ...found, time: this.time }, this.#sentAt, document);
  }

  /** Whether the document is worth nothing at a moment, because it was seen too long ago. */
  isStale(now: Instant): boolean {
    const [monotonic, wall] = [now.monotonic - this.#sentAt.monotonic, now.wall - this.#sentAt.wall];
    return Math.max(monotonic, wall) >= REMEMBERED_MS || Math.abs(monotonic - wall) > APART_MS;
  }

  /**
   * Returns a moment by the clock that ends of leases are written with, in milliseconds since the Unix epoch: never before
   * the server's clock. Without one it is the clock of the process.
   */
  at(now: Instant): number {
    if (this.time === undefined) return now.wall;
    const age = elapsed(this.#sentAt, now);
    return this.time + age + drift(age);
  }

  /** Returns the same, but never after the server's clock; `undefined` where it has none. */
  earliest(now: Instant, receivedAt: Instant): number | undefined {
    return this.time === undefined ? undefined : this.time + elapsed(receivedAt, now);
  }
}
