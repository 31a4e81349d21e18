import { assert } from "@std/assert";
import { deadline } from "@std/async";
import { acquire, LockError, type Store } from "@holdfast/lock";
import { DenoProcess } from "../support/deno_process.ts";
import { until } from "../support/until.ts";
import type { Section } from "./load_process.ts";

/** Longer than any of this takes on a loaded machine, in milliseconds. */
const LIMIT = 60_000;

/** Processes that take the lock "a" again and again. */
export class Load implements AsyncDisposable {
  /** What they have done, in the order in which it was told. */
  readonly sections: (Section & { process: number })[] = [];
  readonly #processes: DenoProcess[];
  readonly #reading: Promise<unknown>;

  /** Starts so many, whose clients are those of a deployment of this kind at this address. */
  constructor(kind: "sentinel" | "cluster", address: unknown, processes: number) {
    const program = import.meta.resolve("./load_process.ts");
    const start = () => new DenoProcess(program, kind, JSON.stringify(address));
    this.#processes = Array.from({ length: processes }, start);
    this.#reading = Promise.all(this.#processes.map(async ({ lines }, process) => {
      for await (const line of lines) this.sections.push({ ...JSON.parse(line), process });
    }));
    this.#reading.catch(() => {}); // Heard in stop().
  }

  /** Waits until each process has done so many more sections. */
  async more(count: number): Promise<void> {
    const from = this.sections.length;
    await until(
      () => {
        const counts = this.#processes.map((_, i) =>
          this.sections.slice(from).filter((each) => each.process === i).length
        );
        return counts.every((each) => each >= count);
      },
      `each process has done ${count} more sections`,
      LIMIT,
    );
  }

  /** Tells them to end, and waits until they have done so by themselves. */
  async stop(): Promise<void> {
    for (const process of this.#processes) await process.endInput();
    const ends = await deadline(Promise.all(this.#processes.map(({ status }) => status)), LIMIT);
    await this.#reading;
    assert(ends.every(({ success }) => success), "no process has died");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
    await this.#reading.catch(() => {});
  }
}

/** Fails unless the fences are unique, and rise from each acquire to those that were called after it had returned. */
export function assertFencesRise(sections: readonly Section[]): void {
  const called = sections.toSorted((a, b) => a.called - b.called);
  const granted = sections.toSorted((a, b) => a.granted - b.granted);
  let highest = 0n;
  let next = 0;
  for (const each of called) {
    for (; granted[next]!.granted < each.called; next++) {
      const fence = BigInt(granted[next]!.fence);
      if (fence > highest) highest = fence;
    }
    assert(BigInt(each.fence) > highest, `fence ${each.fence} came after ${highest}`);
  }
  assert(new Set(sections.map(({ fence }) => fence)).size === sections.length, "no fence was issued twice");
}

/**
 * Has so many waiters queue for the lock "a", each of which holds it for a moment. Resolves with their fences, in
 * order.
 */
export function waiters(stores: readonly Store[], count: number, lease: number): Promise<bigint[]> {
  const fences: bigint[] = [];
  const all = Array.from({ length: count }, async (_, i) => {
    await using lock = await acquire(stores[i % stores.length]!, "a", { lease, strict: false });
    fences.push(lock.fence);
  });
  // They may wait for a new master, and for clients that look for it.
  return deadline(Promise.all(all), 3 * LIMIT).then(() => fences);
}

/** The code of the error that a promise rejects with, if any. */
export async function code(promise: Promise<unknown>): Promise<string | undefined> {
  return await promise.then(() => undefined, (error) => {
    if (error instanceof LockError) return error.code;
    throw error;
  });
}
