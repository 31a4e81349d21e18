import { acquire, type Observer, type Store } from "@holdfast/lock";
import { type Backend, cas } from "@holdfast/lock/cas";
import { memory } from "@holdfast/lock/memory";
import { Documents, memoryBackend } from "../tests/engine/memory_backend.ts";
import type { Figure } from "./figure.ts";
import { pause } from "./pause.ts";
import { relay } from "./relay.ts";
import type { Bench } from "./row.ts";
import { median, summarize } from "./statistics.ts";
import { compare } from "./uncontended.ts";
import { whileWaiting } from "./waiters.ts";

/** How many wait, in how many stores, and how long it is counted how much they write. */
const WAITERS = { all: 100, stores: 10, seconds: 20 } as const;

/** How long handoffs are measured, in seconds. */
const HANDOFF_SECONDS = 5;

/** Measures the engine on a backend in memory: what it takes beside any backend. */
export async function engine(bench: Bench): Promise<Figure[]> {
  return [
    await uncontended("without a clock", {}, bench),
    await uncontended("with a clock", { clock: Date.now }, bench),
    ...await handoffs(bench),
    await waiting(bench),
  ];
}

async function uncontended(kind: string, options: { readonly clock?: () => number }, bench: Bench): Promise<Figure> {
  const [ours, reference] = [cas(memoryBackend(new Documents(), options)), memory()];
  const section = async (store: Store) => {
    await using _lock = await acquire(store, "pairs");
  };
  const contest = {
    what: `engine in memory, ${kind}: acquire + release`,
    ours: () => section(ours),
    reference: () => section(reference),
    against: "memory()",
    target: { bound: "at least", value: 0.5 },
  } as const;
  const figure = await compare(contest, { loops: 1, pairs: 400, seconds: 7 }, bench);
  await pause(0);
  return figure;
}

/** From a release to the next grant, with one waiter and with many. */
async function handoffs(bench: Bench): Promise<Figure[]> {
  const measure = async (waiters: number) => {
    const documents = new Documents();
    const open = (observer: Observer) => cas(memoryBackend(documents), { observer });
    const progress = (text: string) => bench.progress(`${waiters} waiters, ${text}`);
    return await relay({ open, waiters, seconds: HANDOFF_SECONDS * bench.scale, progress });
  };
  const [one, many] = [await measure(1), await measure(WAITERS.all)];
  return [{
    what: `engine in memory: handoff with ${WAITERS.all} waiters, p50`,
    ours: { value: median(many), unit: "ms" },
    reference: { name: "with one", value: median(one), unit: "ms" },
    ratio: median(many) / median(one),
    target: { bound: "at most", value: 1.3 },
    details: { one: summarize(one), many: summarize(many) },
  }];
}

/** How often waiters write while the lock is held. */
async function waiting({ scale, progress }: Bench): Promise<Figure> {
  const documents = new Documents();
  let writes = 0;
  const open = () => {
    const backend = memoryBackend(documents);
    const write: Backend<number>["write"] = (...written) => {
      writes++;
      return backend.write(...written);
    };
    return cas({ ...backend, write });
  };
  const seconds = WAITERS.seconds * scale;
  const sent = await whileWaiting({
    stores: Array.from({ length: WAITERS.stores }, open),
    waiters: WAITERS.all,
    run: async () => {
      writes = 0;
      progress(`${WAITERS.all} waiters, for ${seconds.toFixed(0)} s`);
      await pause(seconds * 1_000);
      return writes;
    },
  });
  return {
    what: `engine in memory: writes while ${WAITERS.all} wait`,
    ours: { value: sent / seconds, unit: "/s" },
    target: { bound: "at most", value: 1 },
    details: { sent, seconds },
  };
}
