/**
 * Runs the tests of Durable Objects: the suite of stores in workerd, clients here and in two workers, objects that are
 * evicted from memory and started again with their storage, and the examples for Workers. Prints a line for each. Runs
 * in Node.
 *
 * @module
 */
import { acquire, tryAcquire } from "@holdfast/lock";
import { durableObject, type LockNamespace } from "@holdfast/lock/durable-object";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { upstash } from "@holdfast/lock/upstash";
import { RedisServer } from "./redis_server.ts";
import { type Line, settings } from "./settings.ts";

interface Miniflare {
  readonly ready: Promise<unknown>;
  dispatchFetch(url: string, init?: { method: "POST"; body: string }): Promise<Response>;
  getWorker(name: string): Promise<{ fetch(url: string): Promise<Response> }>;
  getDurableObjectNamespace(binding: string): Promise<LockNamespace>;
  unsafeEvictDurableObject(script: string, className: string, options: { name: string }): Promise<void>;
  dispose(): Promise<void>;
}

const [package_ = "", worker = "", examples = "", folder = ""] = process.argv.slice(2);
const { Miniflare }: { Miniflare: new (options: unknown) => Miniflare } = await import(package_);

const COMMON = { compatibilityDate: "2026-07-01", durableObjectsPersist: `${folder}/objects` };

/**
 * A lease that is longer than any of these tests, on a slow machine too, and a limit that only a hang reaches, in
 * milliseconds.
 */
const LEASE = 600_000;
const LIMIT = 300_000;

function script(path: string) {
  return { modules: [{ type: "ESModule", path: "worker.js", contents: readFileSync(path, "utf8") }] };
}

/** Starts workerd with two workers, whose objects are kept in files. */
function start(): Miniflare {
  const inFirst = (className: string) => ({ className, scriptName: "first", useSQLite: true });
  const both = {
    ...script(worker),
    compatibilityFlags: ["nodejs_compat"],
    compatibilityDate: COMMON.compatibilityDate,
  };
  const durableObjects = { LOCKS: inFirst("Locks"), REGISTER: inFirst("Register"), OTHERS: inFirst("Register") };
  return new Miniflare({
    durableObjectsPersist: COMMON.durableObjectsPersist,
    workers: [{ name: "first", ...both, durableObjects }, { name: "second", ...both, durableObjects }],
  });
}

let miniflare = start();
let locks = await miniflare.getDurableObjectNamespace("LOCKS");

/** The binding, also after workerd was started again. */
const LOCKS: LockNamespace = { idFromName: (name) => locks.idFromName(name), get: (id) => locks.get(id) };

/** The binding with requests that can be held back: workerd evicts an object when no request is open. */
class Gate implements LockNamespace {
  #open = Promise.resolve();

  idFromName(name: string): unknown {
    return locks.idFromName(name);
  }

  get(id: unknown): ReturnType<LockNamespace["get"]> {
    return {
      fetch: async (url, init) => {
        await this.#open;
        return await locks.get(id).fetch(url, init);
      },
    };
  }

  /** Evicts the object of a name when its open requests have ended: it answers those that it holds after 20 s. */
  async evict(name: string): Promise<void> {
    let open = () => {};
    this.#open = new Promise((resolve) => open = resolve);
    try {
      await until("it is evicted", async () => {
        try {
          await miniflare.unsafeEvictDurableObject("first", "Locks", { name });
          return true;
        } catch (error) {
          // After 30 s, which the requests may take on a slow machine.
          if (/active references/.test(`${error}`)) return false;
          throw error;
        }
      });
    } finally {
      open();
    }
  }
}

async function ask(name: string, path: string): Promise<unknown> {
  const stub = locks.get(locks.idFromName(name));
  return JSON.parse(await (await stub.fetch(`https://lock${path}`, { method: "POST", body: "" })).text());
}

function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(`expected: ${what}`);
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const started = performance.now(); !await condition();) {
    check(performance.now() - started < LIMIT, what);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Waits for a lock, and resolves once it is in the queue. `done` is called with the fence when it has the lock. */
async function queue(
  namespace: LockNamespace,
  name: string,
  done: (fence: bigint) => void,
): Promise<{ readonly over: Promise<void> }> {
  let noteQueued = () => {};
  const queued = new Promise<void>((resolve) => noteQueued = resolve);
  const store = durableObject(namespace, { observer: ({ type }) => type === "waiting" && noteQueued() });
  const over = (async () => {
    await using lock = await acquire(store, name);
    done(lock.fence);
  })();
  await Promise.race([queued, over]);
  return { over };
}

/** A lock with a holder and waiters lives through what happens to its object. */
async function survives(name: string, happens: () => Promise<void>, namespace = LOCKS): Promise<void> {
  const holder = await acquire(durableObject(LOCKS), name, { lease: LEASE, renew: false });
  const before = await ask(name, "/instance");
  const served: [place: number, fence: bigint][] = [];
  const waiters = [];
  for (const place of [0, 1, 2]) waiters.push(await queue(namespace, name, (fence) => served.push([place, fence])));
  await happens();
  check(await ask(name, "/instance") !== before, "the object is started anew");
  waiters.push(await queue(namespace, name, (fence) => served.push([3, fence])));
  check(await tryAcquire(durableObject(LOCKS), name) === null, "the lock is still held");
  await holder.extend();
  await holder.release();
  await Promise.all(waiters.map(({ over }) => over));
  check(served.map(([place]) => place).join() === "0,1,2,3", `in the order of the queue: ${served}`);
  const fences = [holder.fence, ...served.map(([, fence]) => fence)];
  check(fences.every((fence, i) => i === 0 || fence > fences[i - 1]!), `the fences rise: ${fences}`);
  check(`${await ask(name, "/used")}` === "", "nothing is left");
}

const SIDE_BY_SIDE: Readonly<Record<string, () => Promise<void>>> = {
  async "two workers exclude each other"() {
    const workers = await Promise.all(["first", "second"].map((name) => miniflare.getWorker(name)));
    const done = await Promise.all(workers.map(async (worker) => (await worker.fetch("http://worker/crowd/5")).text()));
    check(done.join() === '"done","done"', `both are done: ${done}`);
    const register = await miniflare.getDurableObjectNamespace("REGISTER");
    const stub = register.get(register.idFromName("register"));
    const text = await (await stub.fetch("https://register/", { method: "POST", body: "" })).text();
    const { most, fences }: { most: number; fences: string[] } = JSON.parse(text);
    check(most === 1, `one at a time: ${most}`);
    check(fences.length === 40 && fences.every((fence, i) => i === 0 || fence > fences[i - 1]!), `${fences}`);
  },

  async "a lock outlives the eviction of its object from memory, with its queue"() {
    const gate = new Gate();
    await survives("evicted", () => gate.evict("evicted"), gate);
  },

  async "a lock outlives the eviction of an object that nobody asks"() {
    const lock = await acquire(durableObject(LOCKS), "idle", { lease: LEASE, renew: false });
    const before = await ask("idle", "/instance");
    await until("workerd has evicted it", async () => {
      // It does so after 10 s, or later on a busy machine.
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      return await ask("idle", "/instance") !== before;
    });
    check(await tryAcquire(durableObject(LOCKS), "idle") === null, "the lock is still held");
    await lock.release();
  },

  async "a waiter waits for longer than a request is held open, and asks little"() {
    const asked: string[] = [];
    let heldToTheEnd = 0;
    const counting: LockNamespace = {
      idFromName: (name) => LOCKS.idFromName(name),
      get: (id) => ({
        fetch: async (url, init) => {
          const what = JSON.parse(init.body).do;
          asked.push(what);
          const response = await LOCKS.get(id).fetch(url, init);
          const text = await response.text();
          if (what === "wait" && JSON.parse(text).reply === false && !init.signal?.aborted) heldToTheEnd++;
          return { status: response.status, text: () => Promise.resolve(text) };
        },
      }),
    };
    const holder = await acquire(durableObject(LOCKS), "long", { lease: LEASE, renew: false });
    const waiter = acquire(durableObject(counting), "long");
    const count = (what: string) => asked.filter((each) => each === what).length;
    // The first one is given up when the waiter attempts once more, the second one is held open to its end.
    await until("it waits in a third request", () => Promise.resolve(count("wait") >= 3));
    await holder.release();
    await (await waiter).release();
    // Once at first, and after each request that does not end without news: one may fail on a slow machine.
    check(count("attempt") === 1 + count("wait") - heldToTheEnd, `${heldToTheEnd} held to the end: ${asked}`);
  },

  async "a class that is no LockObject is named"() {
    const others = await miniflare.getDurableObjectNamespace("OTHERS");
    const error = await acquire(durableObject(others), "a").catch((error: unknown) => error);
    check(error instanceof Error && /binding must be LockObject/.test(error.message), `${error}`);
  },
};

async function restart(): Promise<void> {
  await miniflare.dispose();
  miniflare = start();
  locks = await miniflare.getDurableObjectNamespace("LOCKS");
}

/** Reads the configuration of an example. */
function configurationOf(example: string) {
  const text = readFileSync(`${examples}/${example}/wrangler.jsonc`, "utf8");
  return JSON.parse(text.replace(/^\s*\/\/.*$/gm, ""));
}

/** Asks an example for the same report several times at once, and for one whose lock `hold` takes. */
async function askForReports(reports: Miniflare, count: number, hold: () => Promise<AsyncDisposable>): Promise<void> {
  try {
    const get = async (day: string) => {
      const response = await reports.dispatchFetch(`http://reports/${day}`);
      return `${response.status} ${await response.text()}`;
    };
    // It is asked again while it is busy: on a slow machine a wait may end.
    const written = async () => {
      for (;;) {
        const answer = await get("2026-01-31");
        if (!answer.startsWith("503 ")) return answer;
      }
    };
    const answers = new Set(await Promise.all(Array.from({ length: count }, written)));
    const [answer = ""] = answers;
    check(answers.size === 1 && /^200 The report of 2026-01-31, written under fence \d{16}\n$/.test(answer), answer);
    check(await get("2026-01-31") === answer, "it is kept");
    await using _held = await hold();
    check(await get("2026-02-01") === "503 it is being written\n", "busy");
  } finally {
    await reports.dispose();
  }
}

async function runExample(): Promise<void> {
  const { compatibility_date: compatibilityDate, durable_objects: { bindings }, migrations, r2_buckets } =
    configurationOf("worker");
  const classes: string[] = migrations.flatMap((each: { new_sqlite_classes: string[] }) => each.new_sqlite_classes);
  const durableObjects = Object.fromEntries(
    bindings.map((each: { name: string; class_name: string }) => {
      check(classes.includes(each.class_name), `${each.class_name} is in the migrations`);
      return [each.name, { className: each.class_name, useSQLite: true }];
    }),
  );
  const r2Buckets = r2_buckets.map(({ binding }: { binding: string }) => binding);
  const reports = new Miniflare({
    ...script(`${examples}/worker/worker.js`),
    ...{ compatibilityDate, durableObjects, r2Buckets },
  });
  await askForReports(reports, 8, async () => {
    return await acquire(durableObject(await reports.getDurableObjectNamespace("LOCKS")), "report:2026-02-01");
  });
}

async function runUpstashExample(): Promise<void> {
  const { compatibility_date: compatibilityDate, vars } = configurationOf("worker_upstash");
  await using server = await RedisServer.start();
  const options = await server.front();
  check(Object.keys(vars).join() === "UPSTASH_REDIS_REST_URL", "the configuration names the database");
  const bindings = { UPSTASH_REDIS_REST_URL: options.url, UPSTASH_REDIS_REST_TOKEN: options.token };
  const reports = new Miniflare({ ...script(`${examples}/worker_upstash/worker.js`), compatibilityDate, bindings });
  // They have the lock one after the other, and poll for it.
  await askForReports(reports, 3, () => acquire(upstash(options), "report:2026-02-01"));
  // A place in the queue that was not left would stay for 15 s.
  const left = async () => (await server.leftovers()).filter((key) => key !== "example:reports:2026-01-31");
  await until("nothing is left", async () => (await left()).length === 0);
}

let count = 0;

function print(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function runTest(name: string, run: () => Promise<void>): Promise<void> {
  count++;
  const started = performance.now();
  try {
    await run();
    print({ type: "passed", name, ms: Math.round(performance.now() - started) });
  } catch (error) {
    // With its cause, which says why a fetch has failed.
    print({ type: "failed", name, error: inspect(error) });
  }
}

/** Runs the suite of stores in the first worker, and prints its lines. */
async function runSuite(): Promise<void> {
  const body = process.env["HOLDFAST_SETTINGS"] ?? "";
  const response = await miniflare.dispatchFetch("http://localhost/", { method: "POST", body });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  for (const line of text.trimEnd().split("\n").map((line): Line => JSON.parse(line))) {
    if (line.type === "end") count += line.count;
    else print(line);
  }
}

Object.assign(settings, JSON.parse(process.env["HOLDFAST_SETTINGS"] ?? ""));
try {
  await Promise.all([runSuite(), ...Object.entries(SIDE_BY_SIDE).map(([name, run]) => runTest(name, run))]);
  await runTest("a lock outlives the end of workerd, with its queue", () => survives("restarted", restart));
  await runTest("examples/worker writes a report once", runExample);
  await runTest("examples/worker_upstash writes a report once", runUpstashExample);
  print({ type: "end", count });
} finally {
  await miniflare.dispose();
}
