import { hashOf } from "../internal/hash.ts";
import { within } from "../contract/release.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import type { Backend, FoundDocument, ListedDocuments } from "./backend.ts";
import { parseDocument } from "./document.ts";
import { warnOfRefusal } from "./refusal.ts";

/** How long a document must be unused before it is removed, in milliseconds: 7 days. */
export const UNUSED_MS = 7 * 24 * 3_600_000;

/** The key of the position, which is the same for all store objects. No lock has an empty name. */
export const POSITION = "";

const PAGE = 100;

/**
 * For how many new names one page is checked: four documents for each name. With two, half of the names of a week stay
 * too long; with one they pile up. So some pages may be lost.
 */
const NAMES = PAGE / 4;

/** The longest time between two pages of a used store object that makes no documents, in milliseconds. */
const PAUSE_MS = 60_000;

/** How often a page is listed again when others take it at the same time. */
const TRIES = 5;

/** How long a page may take, in milliseconds. */
const LIMIT_MS = 2_000;

/**
 * Removes documents that have been unused for long, page by page, from where the last store object stopped. The
 * position is kept beside the documents, because a process may live for less than a page.
 */
export class DocumentSweeper {
  readonly #backend: Backend;
  readonly #clock: Clock;
  #last: Instant;
  /** How many pages are due, with the present page. */
  #due = 0;

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
    this.#last = clock.now();
  }

  /** Records that a document was made. Its name says whether a page is due, so that no counter is needed. */
  made(name: string): void {
    if (hashOf(name) % NAMES === 0) this.#add();
  }

  used(): void {
    if (elapsed(this.#last, this.#clock.now()) >= PAUSE_MS) this.#add();
  }

  /** Checks one more page, in the background. The next page makes up for a failure. */
  #add(): void {
    if (this.#backend.list === undefined || this.#backend.remove === undefined) return;
    this.#last = this.#clock.now();
    if (++this.#due === 1) void this.#work();
  }

  async #work(): Promise<void> {
    for (; this.#due > 0; this.#due--) {
      try {
        await within(LIMIT_MS, this.#sweep(), this.#clock);
      } catch (error) {
        // Documents would pile up unseen.
        warnOfRefusal("sweep", "Locks that nobody has used for 7 days are not removed", error, this.#backend);
        this.#due = 1;
      }
    }
  }

  async #sweep(): Promise<void> {
    const documents = await this.#takePage();
    const now = this.#clock.now().wall;
    const old = documents.filter((found) => isRemovable(found.key, found, found.time ?? now))
      .map(({ key, version }) => ({ key, version }));
    if (old.length > 0) await this.#backend.remove!(old);
  }

  /** Lists the next page, which no other store object checks then, and stores where the following page begins. */
  async #takePage(): Promise<ListedDocuments["documents"]> {
    for (let tries = 0; tries < TRIES; tries++) {
      const position = await this.#backend.read(POSITION);
      const from = position.value ?? "";
      const { documents, cursor = "" } = await this.#list(from);
      // If all documents fit on one page, no position is kept.
      if (cursor === from) return documents;
      if ((await this.#backend.write(POSITION, cursor, position.version, {})).written) return documents;
    }
    return [];
  }

  /** Lists a page from a cursor on; from the start if the cursor is empty. */
  async #list(from: string): Promise<ListedDocuments> {
    try {
      return await this.#backend.list!(PAGE, from === "" ? undefined : from);
    } catch (error) {
      // The text is no cursor, for example because another program has written it.
      if (from !== "" && (error instanceof RangeError || error instanceof TypeError)) return await this.#list("");
      throw error;
    }
  }
}

/** Returns whether a document may be removed; `false` for a text that may be no document. */
function isRemovable(name: string, found: FoundDocument, now: number): boolean {
  try {
    return isOld(name, found, now);
  } catch {
    return false;
  }
}

/**
 * Returns whether a document may be removed. A document with a holder never may, however old: the clock may be wrong.
 * Nor may a document whose fence is not below the clock: the next fence would not be larger.
 */
export function isOld(name: string, { value }: FoundDocument, now: number): boolean {
  if (value === undefined) return false;
  const document = parseDocument(name, value);
  return document.unused && now - document.used >= UNUSED_MS && document.fence < BigInt(Math.floor(now * 1_000));
}
