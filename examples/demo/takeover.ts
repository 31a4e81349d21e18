import type { Crew, Worker } from "./crew.ts";

/** Short, so that nobody has to watch for long: in milliseconds. Without the option it would be 30 s. */
export const LEASE = 2_000;

/** Tells the person who watches. */
export type Narrator = (line: string) => void;

/** Has somebody take the lock and give it back: throws when the store is of no use. */
export async function probe(crew: Crew): Promise<void> {
  const worker = await crew.start("hold", "the first process", LEASE);
  worker.tell("begin");
  await worker.hear("held");
  worker.tell("release");
  await worker.hear("released");
}

/** Starts two processes: one that has the lock, and one that waits for it. */
async function pair(crew: Crew): Promise<{ a: Worker; fence: string; b: Worker }> {
  const [a, b] = await Promise.all([crew.start("hold", "process A", LEASE), crew.start("hold", "process B", LEASE)]);
  a.tell("begin");
  const { fence } = await a.hear("held");
  b.tell("begin");
  await b.hear("waiting");
  return { a, fence, b };
}

/** Kills a holder; gives after how many milliseconds the next in line has the lock. */
export async function kill(crew: Crew, narrate: Narrator): Promise<number> {
  const { a, b } = await pair(crew);
  const killed = performance.now();
  a.kill("SIGKILL");
  narrate("A holds the lock, B waits. A is killed (SIGKILL).");
  await b.hear("held");
  const milliseconds = performance.now() - killed;
  narrate(`B has the lock, ${(milliseconds / 1000).toFixed(2)} s after the kill.`);
  b.tell("release");
  await b.hear("released");
  return milliseconds;
}

/** What was seen when a holder had slept for longer than its lease. */
export interface Late {
  /** Whether the sleeper knew as soon as it ran again: by `lock.held` and by `lock.signal`. */
  readonly knew: boolean;
  /** Whether its write was refused. */
  readonly refused: boolean;
  /** Whether the new holder could write, and kept its lock until it gave it back. */
  readonly undisturbed: boolean;
}

/** Freezes a holder for longer than its lease; when it wakes up it writes. */
export async function freeze(crew: Crew, narrate: Narrator): Promise<Late> {
  const { a, fence, b } = await pair(crew);
  a.kill("SIGSTOP");
  narrate(`A holds the lock with fence ${fence}, B waits. A is frozen (SIGSTOP).`);
  const { fence: larger } = await b.hear("held");
  b.tell("write");
  const current = await b.hear("wrote");
  narrate(`B has the lock now, with fence ${larger}, and writes: ${verdict(current.accepted)}.`);
  a.tell("write");
  a.kill("SIGCONT");
  const late = await a.hear("wrote");
  narrate(
    `A wakes up (SIGCONT); its lock.signal ${late.knew ? "has aborted" : "has NOT aborted"}. It writes all the same:`,
  );
  narrate(`fence ${fence} is smaller than ${larger}: ${verdict(late.accepted)}.`);
  a.tell("release");
  const released = await a.hear("released");
  b.tell("release");
  const { lost } = await b.hear("released");
  return {
    knew: late.knew && released.lost,
    refused: !late.accepted,
    undisturbed: current.accepted && !lost,
  };
}

function verdict(accepted: boolean): string {
  return accepted ? "accepted" : "refused";
}
