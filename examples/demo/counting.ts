import { Counter } from "./counter.ts";
import type { Crew, Worker } from "./crew.ts";

/** How many processes raise the counter. */
export const WORKERS = 4;

/** Long enough that no section of a busy machine outlives it, in milliseconds. */
const LEASE = 5_000;

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

/** Lets all workers raise the counter at once; `show` hears how often they did, and what it says. */
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
    authors.map((author) => crew.start(locked ? "count locked" : "count", author, LEASE)),
  );

  const seen: { value: number; waited: number; fence: bigint }[] = [];
  const listen = async (worker: Worker) => {
    for (let section = 0; section < sections; section++) {
      const { value, waited, fence } = await worker.hear("section");
      show(seen.push({ value, waited, fence: BigInt(fence) }), value);
    }
  };
  const began = performance.now();
  for (const worker of workers) worker.tell("begin");
  await Promise.all(workers.map(listen));
  const seconds = (performance.now() - began) / 1000;
  await Promise.all(workers.map((worker) => worker.gone));

  using counter = new Counter(path);
  const raised = seen.length;
  const waits = seen.map(({ waited }) => waited).sort((a, b) => a - b);
  // What a section wrote tells when it ran: the counter rises by one with each, if none is lost.
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
