import process from "node:process";
import { countCommands, resetCommands } from "../../../bench/commands.ts";
import { pause } from "../../../bench/pause.ts";
import { connect } from "../clients.ts";
import type { Session } from "../session.ts";
import { need } from "./order.ts";

/** Many locks that are held at the same time; durations in milliseconds. */
export interface Holding {
  readonly port: number;
  readonly locks: number;
  readonly lease: number;
  readonly hold: number;
}

/** What it took. */
export interface Held {
  /** Time of the processor while they were held, in milliseconds. */
  readonly cpu: number;
  /** Bytes of heap that all locks together take. */
  readonly heap: number;
  /** Scripts that the server executed meanwhile: the renewals. */
  readonly renewals: number;
  /** Locks that the server does not have any more, and those whose holder was told so. */
  readonly lost: number;
  readonly told: number;
}

/** So many locks are being taken at a time. */
const BATCH = 250;

/** Takes the locks, which are given up when the process ends, and waits. */
export async function holding(session: Session, { port, locks, lease, hold }: Holding): Promise<Held> {
  const take = need(session, "hold");
  const [server] = await connect([port], false);
  // Code is compiled and tables have grown before it counts.
  await Promise.all(Array.from({ length: BATCH }, async (_, i) => await (await take(`warm:${i}`, lease, () => {}))()));
  const empty = heap();
  const releases: unknown[] = [];
  let told = 0;
  for (let start = 0; start < locks; start += BATCH) {
    await Promise.all(Array.from({ length: Math.min(BATCH, locks - start) }, async (_, i) => {
      releases.push(await take(`held:${start + i}`, lease, () => told++));
    }));
  }
  const full = heap();
  await resetCommands(server!);
  const before = process.cpuUsage();
  await pause(hold);
  const { user, system } = process.cpuUsage(before);
  const { scripts } = await countCommands(server!);
  const kept = (await server!.keys("*held:*")).filter((key) => !key.endsWith(":fence")).length;
  return {
    cpu: (user + system) / 1_000,
    heap: full - empty,
    renewals: scripts,
    lost: releases.length - kept,
    told,
  };
}

function heap(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("needs --v8-flags=--expose-gc");
  gc();
  return Deno.memoryUsage().heapUsed;
}
