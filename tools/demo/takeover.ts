import type { Crew, Worker } from "./crew.ts";
import { shorten } from "./fences.ts";
import { paint } from "./screen.ts";

/** Short, so that the demo is short. The default is 30 s. */
export const LEASE_MS = 2_000;

/** The lease of the process that waits: nobody waits for its end, and a busy machine must not let it end. */
const WAITER_LEASE_MS = 30_000;

/** Prints a line for the person who watches. */
export type Narrator = (line: string) => void;

/** Acquires and releases the lock once; throws when the store cannot be used. */
export async function probe(crew: Crew): Promise<void> {
  const worker = await crew.start("hold", "the first process", LEASE_MS);
  worker.send("begin");
  await worker.receive("held");
  worker.send("release");
  await worker.receive("released");
}

/** Starts two processes: one that has the lock, and one that waits for it. */
async function pair(crew: Crew): Promise<{ a: Worker; fence: string; b: Worker }> {
  for (;;) {
    const [a, b] = await Promise.all([
      crew.start("hold", "process A", LEASE_MS),
      crew.start("hold", "process B", WAITER_LEASE_MS),
    ]);
    a.send("begin");
    const { fence } = await a.receive("held");
    b.send("begin");
    const { type } = await b.receive("waiting", "held");
    if (type === "waiting") return { a, fence, b };
    // The machine has held A up for longer than its lease.
    a.kill("SIGKILL");
    b.send("release");
    await b.receive("released");
  }
}

/** Kills a holder; resolves to the time in ms until the next waiter has the lock. */
export async function kill(crew: Crew, narrate: Narrator): Promise<number> {
  const { a, b } = await pair(crew);
  const killed = performance.now();
  a.kill("SIGKILL");
  narrate("A holds the lock, B waits. A is killed (SIGKILL).");
  await b.receive("held");
  const milliseconds = performance.now() - killed;
  narrate(`B has the lock, ${(milliseconds / 1000).toFixed(2)} s after the kill.`);
  b.send("release");
  await b.receive("released");
  return milliseconds;
}

/** What a holder did that was frozen for longer than its lease. */
export interface Late {
  /** Whether it knew of the loss as soon as it ran again: by `lock.held` and by `lock.signal`. */
  readonly knew: boolean;
  /** Whether its write was refused. */
  readonly refused: boolean;
  /** Whether the new holder could write, and kept its lock until it released it. */
  readonly undisturbed: boolean;
}

/** Freezes a holder for longer than its lease; when it continues it writes. */
export async function freeze(crew: Crew, narrate: Narrator): Promise<Late> {
  const { a, fence, b } = await pair(crew);
  a.kill("SIGSTOP");
  narrate("A holds the lock, B waits. A is frozen (SIGSTOP).");
  const { fence: larger } = await b.receive("held");
  const [ours, theirs] = shorten(fence, larger);
  b.send("write");
  const current = await b.receive("wrote");
  narrate(`A had fence ${ours}, B gets ${theirs} and writes: ${verdict(current.accepted)}.`);
  a.send("write");
  a.kill("SIGCONT");
  const late = await a.receive("wrote");
  narrate(
    `A continues: its signal ${late.knew ? "has" : "has NOT"} aborted. It writes all the same: ${
      verdict(late.accepted)
    }.`,
  );
  a.send("release");
  const released = await a.receive("released");
  b.send("release");
  const { lost } = await b.receive("released");
  return {
    knew: late.knew && released.lost,
    refused: !late.accepted,
    undisturbed: current.accepted && !lost,
  };
}

function verdict(accepted: boolean): string {
  return accepted ? paint("green", "accepted") : paint("red", "refused");
}
