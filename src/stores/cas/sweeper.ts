import { type Clock, elapsed, type Instant } from "../../internal/time/clock.ts";
import type { Backend, FoundDocument } from "./backend.ts";
import { parseDocument } from "./document.ts";

/** How long a document must not have been used before it is removed, in milliseconds: 7 days. */
export const UNUSED_MS = 7 * 24 * 3_600_000;

/** The shortest time between two pages of a store object, in milliseconds. */
const PAUSE_MS = 60_000;

/** How many documents a page has. */
const PAGE = 100;

/** Removes documents that nobody has used for long, page by page, while the store is used. */
export class DocumentSweeper {
  readonly #backend: Backend;
  readonly #clock: Clock;
  #cursor: string | undefined;
  #last: Instant;

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
    this.#last = clock.now();
  }

  /** Sweeps a page if that is due. Does not wait for it: what fails is done the next time. */
  sweepIfDue(): void {
    const now = this.#clock.now();
    if (this.#backend.list === undefined || this.#backend.remove === undefined) return;
    if (elapsed(this.#last, now) < PAUSE_MS) return;
    this.#last = now;
    this.#sweep().catch(() => {});
  }

  async #sweep(): Promise<void> {
    const { documents, cursor } = await this.#backend.list!(PAGE, this.#cursor);
    this.#cursor = cursor;
    const now = this.#clock.now().wall;
    for (const { key, ...found } of documents) {
      try {
        if (isOld(key, found, found.time ?? now)) await this.#backend.remove!(key, found.version);
      } catch {
        // No document, or not to be removed at present: the others are.
      }
    }
  }
}

/**
 * Returns whether a document may be removed. One with a holder never is, however old: the clock may be wrong. One whose
 * fence is not below the clock neither: the next fence would not be larger.
 */
export function isOld(name: string, { value }: FoundDocument, now: number): boolean {
  if (value === undefined) return false;
  const document = parseDocument(name, value);
  return document.unused && now - document.used >= UNUSED_MS && document.fence < BigInt(Math.floor(now * 1_000));
}
