import { acquire, type Lock, type Observer, type Store } from "@holdfast/lock";
import type { Backend, FoundDocument } from "@holdfast/lock/cas";
import { type Clock, type Instant, SystemClock } from "../src/time/clock.ts";
import { CasStore } from "../src/engine/store.ts";
import type { Figure } from "./figure.ts";
import { pause } from "./pause.ts";
import type { Bench } from "./row.ts";

/** For how many weeks names come, in how many steps each, and how many come at the same time. */
const [WEEKS, STEPS, AT_ONCE] = [4, 28, 32];
const WEEK = 7 * 24 * 3_600_000;

/** How many locks are held meanwhile, and for how long each lasts without a renewal, in milliseconds. */
const [HELD, LEASE] = [100, 10_000];

/** How many names a second come while the event loop is watched, and for how long they do, in milliseconds. */
const [RATE, WATCHED] = [200, 15_000];

/** How often it is looked at the event loop, in milliseconds. */
const LOOK = 5;

/** A server on which names come and go. */
export interface NamesPlace {
  readonly name: string;
  /**
   * Connects a backend for the stores that make names and for those that hold locks, as those of a process share one.
   */
  readonly backend: Backend;
  /** How many documents it has, and how many bytes these take. */
  readonly size: () => Promise<{ readonly documents: number; readonly bytes: number }>;
}

/** A clock, and a server, that a bench moves forward. */
class MovedClock implements Clock {
  readonly #clock = new SystemClock();
  ahead = 0;

  now(): Instant {
    const { monotonic, wall } = this.#clock.now();
    return { monotonic: monotonic + this.ahead, wall: wall + this.ahead };
  }

  timer(ms: number, run: () => void): { cancel(): void } {
    return this.#clock.timer(ms, run);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  /** Returns a backend whose clock, where it has one, is moved in the same way. */
  backend(backend: Backend): Backend {
    const moved = <T extends { readonly time?: number | undefined }>(found: T): T => {
      return found.time === undefined ? found : { ...found, time: found.time + this.ahead };
    };
    return {
      read: async (key) => moved<FoundDocument>(await backend.read(key)),
      write: async (key, value, version, { notBefore, ...options }) => {
        const due = notBefore === undefined ? undefined : notBefore - this.ahead;
        const result = await backend.write(key, value, version, { ...options, notBefore: due });
        if (result.written) return moved(result);
        return { written: false, found: result.found && moved(result.found) };
      },
      remove: (documents) => backend.remove!(documents),
      list: async (limit, cursor) => {
        const page = await backend.list!(limit, cursor);
        return { ...page, documents: page.documents.map(moved) };
      },
    };
  }
}

/** Measures what is left of names that are used once each, and what removing them costs the locks of the process. */
export async function weeks(place: NamesPlace, perWeek: number, bench: Bench): Promise<Figure[]> {
  const { name, backend, size } = place;
  const clock = new MovedClock();
  const open = (observer?: Observer) => {
    return new CasStore(clock.backend(backend), { maxClockSkew: 10_000, observer, remote: undefined }, clock);
  };
  let made = 0;
  const use = (store: Store) => useOnce(store, `invoice:${crypto.randomUUID()}`).then(() => made++);
  let [most, last] = [0, { documents: 0, bytes: 0 }];
  for (let step = 1; step <= WEEKS * STEPS; step++) {
    bench.progress(`${name}: day ${(step / STEPS * 7).toFixed(1)} of ${WEEKS * 7}`);
    // Processes do not live long here: those that do look at a page a minute besides.
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (const maker = open(); made < perWeek * step / STEPS;) await use(maker);
    }));
    // A look at a page goes on for a moment.
    await pause(50);
    if (step % STEPS === 0) {
      last = await size();
      most = Math.max(most, last.documents);
    }
    clock.ahead += WEEK / STEPS;
  }
  const { documents, bytes } = last;
  const all = made.toLocaleString("en");
  return [
    {
      what: `${name}, ${all} names used once in ${WEEKS} weeks: most that were there, in names of a week`,
      ours: { value: most / perWeek, unit: "" },
      target: { bound: "at most", value: 1.6 },
      details: { made, documents, bytes },
    },
    { what: `${name}: bytes for each name that is there`, ours: { value: bytes / documents, unit: "" } },
    ...await besides(name, open, bench),
  ];
}

async function useOnce(store: Store, name: string): Promise<void> {
  const lock = await acquire(store, name, { meta: false });
  await lock.release();
}

/**
 * Measures what it costs held locks that names are made, and so others looked at, beside the use of names that are
 * there.
 */
async function besides(
  name: string,
  open: (observer?: Observer) => Store,
  { progress, scale }: Bench,
): Promise<Figure[]> {
  const renewedAt = new Map<string, number>();
  let latest = 0;
  const holder = open((event) => {
    if (event.type !== "renewed") return;
    const now = performance.now();
    latest = Math.max(latest, now - (renewedAt.get(event.name) ?? now));
    renewedAt.set(event.name, now);
  });
  const locks = await Promise.all(
    Array.from({ length: HELD }, (_, i) => acquire(holder, `held ${i}`, { lease: LEASE })),
  );
  const user = open();
  const ms = Math.max(2 * LEASE / 3, WATCHED * scale);
  const stream = async (next: (i: number) => string) => {
    latest = 0;
    // On a machine that is too slow for the rate some are not answered in time.
    const uses: Promise<void>[] = [];
    const stall = await longestStall(ms, () => uses.push(useOnce(user, next(uses.length))));
    await Promise.allSettled(uses);
    return { stall, latest };
  };
  progress(`${name}: names that are there`);
  await Promise.all(Array.from({ length: RATE }, (_, i) => useOnce(user, `known ${i}`)));
  const known = await stream((i) => `known ${i % RATE}`);
  progress(`${name}: new names`);
  const made = await stream(() => `invoice:${crypto.randomUUID()}`);
  const kept = locks.filter(({ held }) => held).length;
  await Promise.allSettled(locks.map((lock: Lock) => lock.release()));
  const beside = (what: string, key: "stall" | "latest"): Figure => ({
    what: `${name}, ${RATE} new names a second: ${what}`,
    ours: { value: made[key], unit: "ms" },
    reference: { name: "with old names", value: known[key], unit: "ms" },
  });
  return [
    beside("longest stall of the event loop", "stall"),
    beside(`longest time between two renewals of a lock, of ${LEASE} ms`, "latest"),
    {
      what: `${name}: locks that are kept beside that`,
      ours: { value: kept, unit: "" },
      target: { bound: "at least", value: HELD },
    },
  ];
}

/** Calls a function at the rate for a time. Resolves to how late the event loop came at most, in milliseconds. */
function longestStall(ms: number, run: () => void): Promise<number> {
  const began = performance.now();
  let [longest, last, calls] = [0, began, 0];
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last - LOOK);
      last = now;
      for (; calls < (now - began) * RATE / 1_000; calls++) run();
      if (now - began < ms) return;
      clearInterval(timer);
      resolve(longest);
    }, LOOK);
  });
}
