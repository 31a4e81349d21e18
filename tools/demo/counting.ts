import { Counter } from "./counter.ts";
import type { Crew, Worker } from "./crew.ts";

/** How many processes raise the counter. */
export const WORKERS = 4;

/** Longer than any section takes, also on a busy machine. */
const LEASE_MS = 30_000;

/** What was seen while all workers raised the counter. */
export interface Count {
  /** How often it was raised, and how many of these updates were overwritten. */
  readonly raised: number;
  readonly lost: number;
  /** Critical sections per second, of all workers together. */
  readonly rate: number;
  /** How long a section waited for the lock, in milliseconds. */
  readonly medianWait: number;
  readonly longestWait: number;
  /** Whether each section had a larger fence than the section before it. */
  readonly rising: boolean;
}

/** Lets all workers raise the counter at the same time, and calls `show` after each section. */
export async function count(
  crew: Crew,
  locked: boolean,
  show: (raised: number, value: number) => void,
): Promise<Count> {
  const { directory, sections } = crew.run;
  const path = `${directory}/counter`;
  Counter.reset(path);
  const authors = Array.from({ length: WORKERS }, (_, index) => `worker ${index + 1}`);
  const workers = await Promise.all(
    authors.map((author) => crew.start(locked ? "count locked" : "count", author, LEASE_MS)),
  );

  const seen: { value: number; waited: number; fence: bigint }[] = [];
  const listen = async (worker: Worker) => {
    for (let section = 0; section < sections; section++) {
      const { value, waited, fence } = await worker.receive("section");
      show(seen.push({ value, waited, fence: BigInt(fence) }), value);
    }
  };
  const began = performance.now();
  for (const worker of workers) worker.send("begin");
  await Promise.all(workers.map(listen));
  const seconds = (performance.now() - began) / 1000;
  await Promise.all(workers.map((worker) => worker.gone));

  using counter = new Counter(path);
  const raised = seen.length;
  const waits = seen.map(({ waited }) => waited).sort((a, b) => a - b);
  // The number that a section wrote is its place in the order: it rises by one with each section, if none is lost.
  const inOrder = seen.sort((a, b) => a.value - b.value);
  return {
    raised,
    lost: raised - counter.get(),
    rate: raised / seconds,
    medianWait: waits[raised >> 1] ?? 0,
    longestWait: waits.at(-1) ?? 0,
    rising: inOrder.every(({ fence }, index) => index === 0 || fence > inOrder[index - 1]!.fence),
  };
}
