import { acquire, type Store } from "@holdfast/lock";

/** How many tasks want a lock all the time, under which name, and for how long, in milliseconds. */
export interface SectionsOptions {
  readonly workers: number;
  readonly name: string;
  readonly ms: number;
  /** The leases that are drawn from, in milliseconds; the default when left out. */
  readonly leases?: readonly number[];
}

/** How many sections there were, in how much time, in milliseconds. */
export interface Sections {
  readonly done: number;
  readonly ms: number;
}

/** Has tasks of this process take a lock again and again, for sections in which nothing is done. */
export async function sections(store: Store, { workers, name, ms, leases = [] }: SectionsOptions): Promise<Sections> {
  const started = performance.now();
  let done = 0;
  const draw = () => leases.length === 0 ? {} : { lease: leases[Math.floor(Math.random() * leases.length)]! };
  await Promise.all(Array.from({ length: workers }, async () => {
    while (performance.now() - started < ms) {
      await using _lock = await acquire(store, name, draw());
      done++;
    }
  }));
  return { done, ms: performance.now() - started };
}
