import { drift } from "../contract/store.ts";
import { elapsed, type Instant } from "../time/clock.ts";
import type { FoundDocument } from "./backend.ts";
import { type LockDocument, parseDocument } from "./document.ts";
import { type Period, periodsOf } from "./period.ts";

/**
 * For how long a document is remembered, in milliseconds: a key that was removed and made anew may repeat a version.
 */
const REMEMBERED_MS = 60_000;

/** How far the clocks of a process may move apart, in milliseconds, before its memory is worthless. */
const APART_MS = 1_000;

const ENCODER = new TextEncoder();

/** How many bytes of UTF-8 a character of a string takes at most. */
const BYTES_PER_CHARACTER = 3;

/** Returns the length of a text, in bytes of UTF-8. */
export function bytesOf(text: string): number {
  return ENCODER.encode(text).length;
}

export interface Trip {
  readonly sentAt: Instant;
  readonly receivedAt: Instant;
}

interface SeenPeriod {
  readonly of: Period["of"];
  /** For how long it was seen up to the last reply, in milliseconds. */
  readonly ms: number;
  /** When it was seen for the first time, and how old it may have been then, in milliseconds. */
  readonly firstSeen: Instant;
  readonly ageThen: number;
}

/**
 * A document as one store object has seen it, and for how long the store object has seen the leases and the turn in it.
 * The next reply makes another object.
 *
 * No clock is compared with the clock of another machine. An age counts from before the request, or from the previous
 * reply, by the clock of the two that has moved *further*. The time for which a period was seen counts from the reply,
 * by the clock that has moved *less*. So neither a suspended machine nor a set clock makes a lease seem over.
 */
export class Seen {
  readonly name: string;
  readonly #found: FoundDocument;
  readonly #trip: Trip;
  readonly #periods = new Map<number, SeenPeriod>();
  #document: LockDocument | undefined;

  /**
   * Records a reply.
   *
   * @param document the document of this text, which nobody else changes
   */
  constructor(name: string, found: FoundDocument, trip: Trip, before?: Seen, document?: LockDocument) {
    this.name = name;
    this.#found = found;
    this.#trip = trip;
    this.#document = document;
    const { receivedAt } = trip;
    // A period that was not there at the previous reply is younger than that reply.
    const ageThen = before === undefined ? Infinity : elapsed(before.#trip.receivedAt, receivedAt);
    for (const period of periodsOf(this.document)) {
      const { of, number } = period;
      const known = before === undefined ? undefined : before.#known(period);
      this.#periods.set(number, {
        of,
        ms: before?.seenFor(period, receivedAt) ?? 0,
        firstSeen: known?.firstSeen ?? receivedAt,
        ageThen: known?.ageThen ?? ageThen,
      });
    }
  }

  get receivedAt(): Instant {
    return this.#trip.receivedAt;
  }

  get version(): unknown {
    return this.#found.version;
  }

  get isAbsent(): boolean {
    return this.#found.value === undefined;
  }

  /** The server's clock at its answer, where it has one. */
  get time(): number | undefined {
    return this.#found.time;
  }

  /** The document, for reading. */
  get document(): LockDocument {
    return this.#document ??= parseDocument(this.name, this.#found.value);
  }

  /** Returns the document, for changing. */
  take(): LockDocument {
    const { document } = this;
    this.#document = undefined;
    return document;
  }

  /** Returns the length of the text, in bytes of UTF-8. */
  bytes(): number {
    return bytesOf(this.#found.value ?? "");
  }

  isLongerThan(bytes: number): boolean {
    const { length } = this.#found.value ?? "";
    return length > bytes || length * BYTES_PER_CHARACTER > bytes && this.bytes() > bytes;
  }

  /** Returns the document of a later write or watch. Without a time of its own, it keeps the older time. */
  replaced(found: FoundDocument, trip: Trip, document?: LockDocument): Seen {
    const { value, version, time = this.time } = found;
    const { sentAt } = found.time !== undefined || time === undefined ? trip : this.#trip;
    return new Seen(this.name, { value, version, time }, { sentAt, receivedAt: trip.receivedAt }, this, document);
  }

  /** Returns whether the document is worthless, because it was seen too long ago, or the clocks have moved apart. */
  isStale(now: Instant): boolean {
    const { sentAt } = this.#trip;
    const [monotonic, wall] = [now.monotonic - sentAt.monotonic, now.wall - sentAt.wall];
    return Math.max(monotonic, wall) >= REMEMBERED_MS || Math.abs(monotonic - wall) > APART_MS;
  }

  /**
   * Returns a moment by the clock of lease ends, in milliseconds since the Unix epoch: never before the server's clock.
   * Without a server's clock it is the clock of the process.
   */
  latest(now: Instant): number {
    if (this.time === undefined) return now.wall;
    const age = elapsed(this.#trip.sentAt, now);
    return this.time + age + drift(age);
  }

  /** Returns the same moment, but never after the server's clock; `undefined` where the server has none. */
  earliest(now: Instant): number | undefined {
    return this.time === undefined ? undefined : this.time + elapsed(this.#trip.receivedAt, now);
  }

  seenFor(period: Period, now: Instant): number {
    const known = this.#known(period);
    return known === undefined ? 0 : known.ms + leastElapsed(this.#trip.receivedAt, now);
  }

  /** Returns how old a lease or a turn may be, in milliseconds; 0 if it was never seen: it is being written. */
  ageAtMost(period: Period, now: Instant): number {
    const known = this.#known(period);
    return known === undefined ? 0 : known.ageThen + elapsed(known.firstSeen, now);
  }

  #known({ number, of }: Period): SeenPeriod | undefined {
    const known = this.#periods.get(number);
    return known?.of === of ? known : undefined;
  }
}

/** Returns the milliseconds between two moments: the *smaller* difference of the clocks, 0 if one was set back. */
function leastElapsed(from: Instant, to: Instant): number {
  return Math.max(0, Math.min(to.monotonic - from.monotonic, to.wall - from.wall));
}
