import type { Backend } from "../../src/engine/mod.ts";
import { CasStore } from "../../src/engine/store.ts";
import type { VirtualClock } from "../support/virtual_clock.ts";
import { type Documents, memoryBackend } from "./memory_backend.ts";

/** Returns random numbers from 0 to 1, the same ones each time. */
export function sameRandom(): () => number {
  let seed = 1;
  return () => (seed = seed * 48_271 % 0x7fffffff) / 0x7fffffff;
}

/** Makes a store on a backend. */
export function storeOf(backend: Backend<number>, clock: VirtualClock, random?: () => number): CasStore {
  return new CasStore(backend as Backend, { maxClockSkew: 10_000, observer: undefined }, clock, random);
}

/** How far away a backend is. */
export interface Distance {
  readonly clock: VirtualClock;
  readonly random: () => number;
  /** How long a message to the server and back takes, in milliseconds. */
  readonly trip: number;
  /** Whether it tells those who watch of news, and those whose write was refused what is there. */
  readonly tells?: boolean;
  /** Until when nothing comes through, by the monotonic clock. */
  readonly stalledUntil?: () => number;
}

/** Returns a backend on the far side of a network. */
export function distant(
  documents: Documents,
  { clock, random, trip, tells = false, stalledUntil = () => 0 }: Distance,
): Backend<number> {
  const backend = memoryBackend(documents, { clock: () => clock.now().wall, watches: false });
  const way = async () => {
    await clock.sleep(trip * (1 + random()) / 3);
    await clock.sleep(Math.max(0, stalledUntil() - clock.now().monotonic));
  };
  const there = async <T>(execute: () => Promise<T>): Promise<T> => {
    await way();
    const reply = await execute();
    await way();
    return reply;
  };
  const far: Backend<number> = {
    read: (key) => there(() => backend.read(key)),
    write: async (...written) => {
      const result = await there(async () => {
        const result = await backend.write(...written);
        if (result.written && written[3].notify) documents.tellNews(written[0]);
        return result;
      });
      return result.written || tells ? result : { written: false };
    },
  };
  if (!tells) return far;
  far.watch = (key, version, signal) =>
    new Promise<void>((resolve) => {
      if (signal.aborted || documents.found(key).version !== version) return resolve();
      const end = documents.onNews(key, () => void way().then(done));
      const done = () => {
        end();
        signal.removeEventListener("abort", done);
        resolve();
      };
      signal.addEventListener("abort", done);
    });
  return far;
}
