/**
 * A process that takes locks all the time and raises the numbers that they protect. Its argument is a {@linkcode Work},
 * as JSON; it writes {@linkcode Line}s. It finishes when its input ends.
 *
 * @module
 */
import { Cluster, Redis } from "npm:ioredis@^6";
import { acquire, type Lock, LockError, tryAcquire } from "../../../mod.ts";
import type { Observer } from "../../../src/observer.ts";
import { redis } from "../../../src/stores/redis/mod.ts";
import { redlock } from "../../../src/stores/redlock/mod.ts";
import type { Store } from "../../../src/store.ts";
import { now } from "../../history/history.ts";
import { Random } from "../../simulation/random.ts";
import { pause } from "./fault.ts";
import { Register } from "./register.ts";
import type { Line, Target, Work } from "./work.ts";

/** How long calls may still take when the faults are over, in milliseconds: dead waiters are passed over for 15 s. */
const SETTLING = 40_000;

/** How long it may take to end by itself when all is closed, in milliseconds. */
const LINGERING = 5_000;

/** How long an impatient client waits for a reply, in milliseconds. */
const IMPATIENCE = 1_000;

const work: Work = JSON.parse(Deno.args[0] ?? "");
const encoder = new TextEncoder();
const waiting = new Set<string>();
const pending = new Set<{ readonly lock: string; readonly start: number }>();
let finishing = false;

function write(line: Line): void {
  Deno.stdout.writeSync(encoder.encode(`${JSON.stringify(line)}\n`));
}

const observer: Observer = ({ type, owner }) => {
  if (type === "waiting") waiting.add(owner);
};

const clients: { disconnect(): void; on(event: "error", listener: () => void): unknown }[] = [];

function connect(target: Target): Store {
  const retryStrategy = () => 100;
  const options = { retryStrategy, ...(work.patient ? {} : { commandTimeout: IMPATIENCE, maxRetriesPerRequest: 2 }) };
  switch (target.kind) {
    case "single":
      return redis(adopt(new Redis(target.port, "127.0.0.1", options)), { observer });
    case "redlock":
      return redlock(target.ports.map((port) => adopt(new Redis(port, "127.0.0.1", options))), { observer });
    case "sentinel": {
      const { sentinels, name, nat: natMap } = target;
      const sentinel = { sentinels: [...sentinels], name, natMap, sentinelRetryStrategy: retryStrategy };
      return redis(adopt(new Redis({ ...options, ...sentinel, failoverDetector: true })), { observer });
    }
    case "cluster": {
      const { nodes, nat: natMap } = target;
      const cluster = { natMap, clusterRetryStrategy: retryStrategy, slotsRefreshTimeout: IMPATIENCE };
      return redis(adopt(new Cluster([...nodes], { ...cluster, redisOptions: options })), { observer });
    }
  }
}

function adopt<T extends typeof clients[number]>(client: T): T {
  client.on("error", () => {}); // It connects again.
  clients.push(client);
  return client;
}

globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  const { reason } = event;
  write({ type: "unhandled", message: reason instanceof Error ? reason.stack ?? reason.message : String(reason) });
});

const store = connect(work.target);
const registerClient = new Redis(work.register, "127.0.0.1");
const register = new Register(registerClient, work.fences);

/** One lock after another. */
async function live(random: Random): Promise<void> {
  while (!finishing) {
    const call = { lock: work.locks[Math.floor(work.locks.length * random.next() ** 2)]!, start: now() };
    pending.add(call);
    const lock = await get(call.lock, random).catch((error) => {
      const outcome = error instanceof LockError ? error.code : error === "enough" ? "aborted" : undefined;
      if (outcome === undefined) throw error;
      return outcome;
    }).finally(() => pending.delete(call));
    const { start } = call;
    if (lock === null || typeof lock === "string") {
      write({ type: "refused", outcome: lock ?? "busy", start, end: now() });
      // Whoever is refused comes back later.
      await sleep(random.between(5, 100));
    } else await use(lock, start, random);
    await sleep(random.chance(0.3) ? random.spread(1, 100) : 0);
  }
}

/** Asks for a lock in one of the ways that there are. */
async function get(name: string, random: Random): Promise<Lock | null> {
  const { lease } = work;
  const way = random.next();
  if (way < 0.1) return await tryAcquire(store, name, { lease });
  if (way < 0.3) return await acquire(store, name, { lease, wait: random.spread(10, 5_000) });
  if (way < 0.4) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort("enough"), random.spread(1, 2_000));
    return await acquire(store, name, { lease, signal: abort.signal }).finally(() => clearTimeout(timer));
  }
  return await acquire(store, name, { lease });
}

/** Raises the number that the lock protects, as programs do that rely on the lock more than they should. */
async function use(lock: Lock, start: number, random: Random): Promise<void> {
  const { name, owner, fence } = lock;
  const end = now();
  let believed = start;
  let acted = start;
  const held = () => {
    const at = now();
    if (lock.held) believed = at;
    return believed === at;
  };
  const waited = waiting.delete(owner);
  const first = held();
  write({ type: "granted", lock: name, owner, fence: `${fence}`, start, end, believed, waited });
  let written = false;
  if (first) {
    acted = now();
    const number = await register.read(name, fence);
    // Mostly short; sometimes longer than a lease, so that it is renewed.
    await sleep(random.chance(0.04) ? random.between(0, 2 * work.lease) : random.spread(1, 20));
    if (random.chance(0.05)) await lock.extend().catch(ignoreLockError);
    // Some programs do not look at all; others do, but between looking and acting there is time, and sometimes a lot.
    const careless = random.chance(0.4);
    if (number !== undefined && (careless || held())) {
      if (random.chance(0.4)) await sleep(random.spread(1, 200));
      acted = now();
      written = await register.write(name, fence, number + 1);
    }
  }
  write({ type: "section", owner, believed, acted: Math.max(believed, acted), written });
  const releasing = now();
  const outcome = await lock.release().then(() => "released" as const, (error) => {
    ignoreLockError(error);
    return (error as LockError).code === "lost" ? "lost" as const : "unknown" as const;
  });
  write({ type: "release", lock: name, owner, start: releasing, end: now(), outcome });
}

function ignoreLockError(error: unknown): void {
  if (!(error instanceof LockError)) throw error;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

await registerClient.ping();
write({ type: "ready" });
const random = new Random(work.seed);
const lives = Promise.all(Array.from({ length: work.atOnce }, () => live(random.fork())));
// What ends one of them ends the process, with an error.
void lives;
for await (const _ of Deno.stdin.readable);
finishing = true;
const settling = new AbortController();
const all = lives.then(() => true);
const settled = await Promise.race([all, pause(SETTLING, settling.signal).then(() => false)]);
settling.abort();
if (!settled && pending.size === 0) write({ type: "unhandled", message: "a section did not come to its end" });
write({ type: "finished", pending: [...pending] });
for (const client of clients) client.disconnect();
registerClient.disconnect();
// By itself if it can: what is left over keeps it alive, such as a client that looks for its Sentinels when it is closed.
if (pending.size > 0) Deno.exit();
const lingering = setTimeout(() => {
  write({ type: "lingering" });
  Deno.exit();
}, LINGERING) as unknown as { unref(): void };
lingering.unref();
