/**
 * Holds locks on a Redis server in ways that go wrong, until it is killed, and shows the metrics to Prometheus. Runs in
 * Deno and in Node. Its arguments are the ports of the server and of the metrics, and the addresses of the modules
 * ioredis, @opentelemetry/sdk-metrics and @opentelemetry/exporter-prometheus.
 *
 * @module
 */
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { acquire, tryAcquire } from "../../../mod.ts";
import { otel } from "../mod.ts";
import { redis } from "../../../src/stores/redis/mod.ts";

/** The modules, of which each runtime has its own. */
type Modules = readonly [
  typeof import("ioredis"),
  typeof import("@opentelemetry/sdk-metrics"),
  typeof import("@opentelemetry/exporter-prometheus"),
];

const [serverPort, port, ...addresses] = process.argv.slice(2);
const modules: unknown[] = await Promise.all(addresses.map((address) => import(address)));
const [{ Redis }, { MeterProvider }, { PrometheusExporter }] = modules as unknown as Modules;

const exporter = new PrometheusExporter({ host: "127.0.0.1", port: Number(port) });
const meter = new MeterProvider({ readers: [exporter] }).getMeter("@holdfast/lock");
// It gives up a command at once while the server is away, and finds the server again.
const client = new Redis(Number(serverPort), "127.0.0.1", { maxRetriesPerRequest: 0, retryStrategy: () => 100 });
client.on("error", () => {});
const store = redis(client, { observer: otel({ meter, group: (name) => name.split(":")[0] }) });

/** Takes a lock again and again, also from another task. */
async function work(): Promise<never> {
  for (;;) {
    const lock = await tryAcquire(store, "work:1").catch(() => null);
    await delay(lock === null ? 10 : 30);
    await lock?.release().catch(() => {});
  }
}

// A slow machine must not lose it as well; it is renewed early, to be seen.
const stuck = await acquire(store, "stuck:1", { lease: 60_000, renew: 5_000 });
const waiting = acquire(store, "stuck:1").catch(() => {});
await acquire(store, "lost:1", { lease: 2_000, renew: false });
await Promise.all([waiting, work(), work()]);
await stuck.release(); // Never reached: it keeps the handle from becoming garbage, of which the process would be warned.
