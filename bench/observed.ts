import { acquire, type Observer, type Store } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { otel, type OtelMeter, type OtelTracer } from "@holdfast/otel";
import { redis } from "@holdfast/lock/redis";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { compare } from "./uncontended.ts";

/** Instruments and spans that drop what they are told: what is measured is our own part. */
const METER: OtelMeter = {
  createCounter: () => ({ add: () => {} }),
  createUpDownCounter: () => ({ add: () => {} }),
  createHistogram: () => ({ record: () => {} }),
  createObservableGauge: () => ({ addCallback: () => {} }),
};
const SPAN = {
  spanContext: () => ({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 0 }),
  addEvent: () => {},
  setStatus: () => {},
  end: () => {},
};
const TRACER: OtelTracer = { startSpan: () => SPAN };

const OBSERVERS: Readonly<Record<string, () => Observer>> = {
  "an empty observer": () => () => {},
  "otel() on": () => otel({ meter: METER, tracer: TRACER }),
};

const LOAD = { loops: 1, pairs: 400, seconds: 8 };

/** Measures what it costs to observe a lock, against the same store without an observer; for information. */
export async function observed(bench: Bench): Promise<Figure[]> {
  const { server } = bench;
  const stores: Readonly<Record<string, (observer?: Observer) => Store>> = {
    Redis: (observer) => redis(server.connect(), { observer }),
    memory: (observer) => memory({ observer }),
  };
  const figures: Figure[] = [];
  for (const [kind, open] of Object.entries(stores)) {
    for (const [what, observer] of Object.entries(OBSERVERS)) {
      const [ours, reference] = [open(observer()), open()];
      const contest = {
        what: `${kind}: acquire + release, ${what}`,
        ours: (loop: number) => section(ours, `ours:${loop}`),
        reference: (loop: number) => section(reference, `them:${loop}`),
        against: "no observer",
      };
      figures.push(await compare(contest, LOAD, bench));
    }
  }
  return figures;
}

async function section(store: Store, name: string): Promise<void> {
  await using _lock = await acquire(store, name);
}
