import type { LockEvent } from "@holdfast/lock";
import type { Clock } from "../../time/clock.ts";

const MINUTE_MS = 60_000;

/** How many minutes are counted, beside the present one. */
const MINUTES = 60;

/** How many prefixes are counted apart; names may be anything. */
const MAX_PREFIXES = 100;

/** How often something happened, by its reason. */
type Tally = Record<string, number>;

/** The counts for the names of one prefix. */
export interface Counts {
  /** The text up to the first colon; `""` for names without a colon, `undefined` for prefixes beyond the limit. */
  readonly prefix: string | undefined;
  readonly acquired: number;
  /** The mean time from the call to the grant, in milliseconds. */
  readonly meanWait: number;
  readonly maxWait: number;
  readonly gaveUp: Readonly<Tally>;
  readonly lost: Readonly<Tally>;
}

/** The events of one minute. */
class Minute {
  acquired = 0;
  waited = 0;
  maxWait = 0;
  readonly gaveUp: Tally = {};
  readonly lost: Tally = {};

  note(event: LockEvent): void {
    switch (event.type) {
      case "acquired":
        this.acquired++;
        this.waited += event.waited;
        this.maxWait = Math.max(this.maxWait, event.waited);
        break;
      case "gave_up":
        add(this.gaveUp, { [event.reason]: 1 });
        break;
      case "lost":
        add(this.lost, { [event.reason]: 1 });
        break;
      default:
    }
  }
}

/** The minutes of one prefix, by their number. */
type Minutes = Map<number, Minute>;

/** Counts the events of the last hour by the prefix of the name. */
export class Counters {
  readonly #clock: Clock;
  readonly #prefixes = new Map<string, Minutes>();
  readonly #others: Minutes = new Map();

  /** Creates empty counters. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts an event. */
  note(event: LockEvent): void {
    if (event.type !== "acquired" && event.type !== "gave_up" && event.type !== "lost") return;
    const now = this.#minute;
    const minutes = this.#minutesOf(event.name, now);
    let minute = minutes.get(now);
    if (minute === undefined) {
      forgetOld(minutes, now);
      minutes.set(now, minute = new Minute());
    }
    minute.note(event);
  }

  /** Returns the counts of the last hour, in the order of the prefixes. */
  read(): Counts[] {
    this.#forgetOld();
    const prefixes: [string | undefined, Minutes][] = [...this.#prefixes].sort(([a], [b]) => a < b ? -1 : 1);
    if (this.#others.size > 0) prefixes.push([undefined, this.#others]);
    return prefixes.map(([prefix, minutes]) => sum(prefix, [...minutes.values()]));
  }

  get #minute(): number {
    return Math.floor(this.#clock.now().monotonic / MINUTE_MS);
  }

  #minutesOf(name: string, now: number): Minutes {
    const prefix = name.slice(0, name.indexOf(":") + 1);
    const known = this.#prefixes.get(prefix);
    if (known !== undefined) return known;
    if (this.#prefixes.size >= MAX_PREFIXES) {
      // At most once a minute: it looks at all of them.
      if (!this.#others.has(now)) this.#forgetOld();
      if (this.#prefixes.size >= MAX_PREFIXES) return this.#others;
    }
    const minutes: Minutes = new Map();
    this.#prefixes.set(prefix, minutes);
    return minutes;
  }

  #forgetOld(): void {
    const now = this.#minute;
    forgetOld(this.#others, now);
    for (const [prefix, minutes] of this.#prefixes) {
      forgetOld(minutes, now);
      if (minutes.size === 0) this.#prefixes.delete(prefix);
    }
  }
}

function forgetOld(minutes: Minutes, now: number): void {
  for (const minute of minutes.keys()) if (minute < now - MINUTES) minutes.delete(minute);
}

function sum(prefix: string | undefined, minutes: readonly Minute[]): Counts {
  const total = new Minute();
  for (const minute of minutes) {
    total.acquired += minute.acquired;
    total.waited += minute.waited;
    total.maxWait = Math.max(total.maxWait, minute.maxWait);
    add(total.gaveUp, minute.gaveUp);
    add(total.lost, minute.lost);
  }
  const { acquired, waited, maxWait, gaveUp, lost } = total;
  return { prefix, acquired, meanWait: acquired === 0 ? 0 : waited / acquired, maxWait, gaveUp, lost };
}

function add(to: Tally, more: Readonly<Tally>): void {
  for (const [reason, count] of Object.entries(more)) to[reason] = (to[reason] ?? 0) + count;
}
