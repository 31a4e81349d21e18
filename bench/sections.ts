import { acquire, type Store } from "@holdfast/lock";

/** How many tasks want a lock all the time, under which name, and for how long, in milliseconds. */
export interface SectionsOptions {
  readonly workers: number;
  readonly name: string;
  readonly ms: number;
  /** The leases of the tasks in turn, in milliseconds. */
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
  await Promise.all(Array.from({ length: workers }, async (_, task) => {
    const options = leases.length === 0 ? {} : { lease: leases[task % leases.length]! };
    while (performance.now() - started < ms) {
      await using _lock = await acquire(store, name, options);
      done++;
    }
  }));
  return { done, ms: performance.now() - started };
}
