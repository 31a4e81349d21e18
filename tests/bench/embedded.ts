import { acquire, type Observer, type Store } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import type { Figure } from "./figure.ts";
import { pause } from "./pause.ts";
import { relay } from "./relay.ts";
import type { Bench } from "./row.ts";
import { median, summarize } from "./statistics.ts";

/** How long each figure is measured, and how many sections make a round. */
const SECONDS = 2.5;
const ROUND = 200;

/** The stores that need no server, for information. */
export async function embedded(bench: Bench): Promise<Figure[]> {
  const { directory, stack } = bench;
  const file = (name: string) => (observer: Observer) => {
    const store = sqlite(`${directory}/${name}.db`, { observer });
    stack.defer(() => store.close());
    return store;
  };
  let shared: Store | undefined;
  return [
    await pairs("SQLite", file("pairs")(() => {}), bench),
    await handoffs("SQLite, two connections", file("handoff"), bench),
    await pairs("memory", memory(), bench),
    await handoffs("memory", (observer) => shared ??= memory({ observer }), bench),
  ];
}

async function pairs(name: string, store: Store, { scale, progress }: Bench): Promise<Figure> {
  const rates: number[] = [];
  const end = performance.now() + SECONDS * scale * 1_000;
  for (let round = 0; performance.now() < end || rates.length < 2; round++) {
    const started = performance.now();
    for (let pair = 0; pair < ROUND; pair++) {
      await using _lock = await acquire(store, "pairs");
    }
    // The first round is the compiler's.
    if (round > 0) rates.push(ROUND / (performance.now() - started) * 1_000);
    progress(`${name}, ${rates.length} rounds`);
    // These stores never wait for anything: let the event loop turn, so that Ctrl-C is heard.
    await pause(0);
  }
  const details = { perSecond: summarize(rates) };
  return { what: `${name}: acquire + release`, ours: { value: median(rates), unit: "/s" }, details };
}

async function handoffs(name: string, open: (observer: Observer) => Store, bench: Bench): Promise<Figure> {
  const progress = (text: string) => bench.progress(`${name}, ${text}`);
  const times = await relay({ open, waiters: 1, seconds: SECONDS * bench.scale, progress });
  const details = { times: summarize(times) };
  return { what: `${name}: handoff, p50`, ours: { value: median(times), unit: "ms" }, details };
}
