import process from "node:process";
import type { Session } from "../session.ts";
import { need } from "./order.ts";

/** Many locks that nobody else wants. */
export interface Pairs {
  readonly name: string;
  /** How many loops take locks at a time, and how often each does. */
  readonly loops: number;
  readonly pairs: number;
}

/** How long all of them took, and how long the processor worked on it, in milliseconds. */
export interface PairsDone {
  readonly took: number;
  readonly cpu: number;
}

export async function pairs(session: Session, { name, loops, pairs }: Pairs): Promise<PairsDone> {
  const run = pair(session);
  const before = process.cpuUsage();
  const started = performance.now();
  await Promise.all(Array.from({ length: loops }, async (_, loop) => {
    for (let i = 0; i < pairs; i++) await run(`${name}:${loop}`);
  }));
  const took = performance.now() - started;
  const { user, system } = process.cpuUsage(before);
  return { took, cpu: (user + system) / 1_000 };
}

/** Pairs one after the other, for as long as it takes. */
export interface Timed {
  readonly name: string;
  readonly count: number;
  readonly seconds: number;
}

/** Gives the milliseconds of each acquire and release that succeeded, and how many failed. */
export async function timed(
  session: Session,
  { name, count, seconds }: Timed,
): Promise<{ times: number[]; failures: number }> {
  const run = pair(session);
  const times: number[] = [];
  let failures = 0;
  const end = performance.now() + seconds * 1_000;
  for (let i = 0; i < count && performance.now() < end; i++) {
    const started = performance.now();
    try {
      // A name of its own for each: what an earlier one left behind does not stand in the way.
      await run(`${name}:${i}`);
      times.push(performance.now() - started);
    } catch {
      failures++;
    }
  }
  return { times, failures };
}

/** Returns what takes a free lock and gives it back. */
export function pair(session: Session): (name: string) => Promise<unknown> {
  if (session.pair !== undefined) return session.pair.bind(session);
  const lock = need(session, "lock");
  return async (name) => await (await lock(name))();
}
