/**
 * A process that takes locks all the time and raises the numbers that they protect. Its argument is a {@linkcode Work},
 * as JSON; it writes {@linkcode Line}s. It finishes when its input ends.
 *
 * @module
 */
import { Redis } from "npm:ioredis@^6";
import { acquire, type Lock, LockError, tryAcquire } from "../../../mod.ts";
import type { Observer } from "../../../src/contract/events.ts";
import { cohort } from "../../../src/cohort/mod.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import type { Store } from "../../../src/contract/store.ts";
import { standStill } from "../../support/stand_still.ts";
import { now } from "../../verification/history/history.ts";
import { Random } from "../../simulation/kernel/random.ts";
import { connect } from "./access.ts";
import { Belief } from "./belief.ts";
import { TURN_MS } from "./dead_holders.ts";
import { pause } from "./fault.ts";
import { guarding } from "./guarded.ts";
import { Inspector } from "./inspector.ts";
import { Register } from "./register.ts";
import { Stalls } from "./stalls.ts";
import { Trace } from "./trace.ts";
import { Visitor } from "./visitor.ts";
import { Witness } from "./witness.ts";
import { type Line, type Remains, THRONGED, type Work } from "./work.ts";

/** How long it may take to end by itself when all is closed, in milliseconds. */
const LINGERING = 5_000;

/** The pause of a holder that does nothing but ask whether it holds, in milliseconds. */
const ASKED = 20;

/** The options of `cohort()`, in milliseconds. */
const COHORTS = { keep: { keep: 10 }, linger: { keep: 10, linger: 5 } };

/**
 * How many visitors there are at a time, how often one dies with the lock, and when the next one comes, in
 * milliseconds.
 */
const [VISITORS, DIES, COMES] = [2, 0.3, [100, 1_000]] as const;

/** How many want a lock at the same time, how often each, and when the next ones come, in milliseconds. */
const [CROWD, TURNS, CALM] = [[2, 8], [1, 3], [10, 600]] as const;

/** What asks for a lock and uses it, when it began, and what it is at. */
interface Section {
  readonly lock: string;
  readonly start: number;
  at: string;
}

/** What a section is at whose call has not returned. */
const ACQUIRES = "acquires";

const work: Work = JSON.parse(Deno.args[0] ?? "");

/**
 * How long calls may still take when the faults are over, in milliseconds: dead waiters are passed over for 15 s. And
 * each store object in the queue may be that of a killed process, which takes a turn: those of three, at least.
 */
async function settling(): Promise<number> {
  return 40_000 + Math.max(3 * work.stores, await queued()) * TURN_MS;
}

/** Returns how many store objects are in the queue, dead ones too; 0 where that is not known. */
async function queued(): Promise<number> {
  return await access.queued?.(THRONGED).catch(() => 0) ?? 0;
}

/**
 * When the store objects want one lock at the same time: each time when so many milliseconds are over, in which the
 * turns of a process that died end; and how long before that they look at the queue.
 */
const [THRONG_MS, LOOK_MS] = [1.25 * work.stores * TURN_MS, 1_000];

const encoder = new TextEncoder();
const waiting = new Set<string>();
const sections = new Set<Section>();
let finishing = false;
const finish = new AbortController();

function write(line: Line): void {
  Deno.stdout.writeSync(encoder.encode(`${JSON.stringify(line)}\n`));
}

const observer: Observer = ({ type, owner }) => {
  if (type === "waiting") waiting.add(owner);
};

const witness = new Witness(now, work.target.kind === "redlock" ? work.target.ports.length : 0);

const access = await connect(work, witness, observer);

globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  const { reason } = event;
  write({ type: "unhandled", message: reason instanceof Error ? reason.stack ?? reason.message : String(reason) });
});

globalThis.addEventListener("error", (event) => {
  // mariadb throws it where nobody can catch it, when a connection is closed at the moment at which it is logged in.
  if (work.target.kind === "mysql" && /socket has unexpectedly been closed/.test(event.message)) event.preventDefault();
});

/** Returns what hands the locks of a store on, as `redis()` and `cohort()` do. */
function handingOn(kept: Store): Store {
  const { handoff } = work;
  if (handoff === "keep" || handoff === "linger") return cohort(kept, COHORTS[handoff]);
  if (!kept.capabilities?.includes("runs")) return kept;
  if (handoff === "default") return new HandoffStore(kept, new SystemClock());
  // `acquire()` hands on by itself what a store grants in runs.
  return Object.assign(kept, { capabilities: kept.capabilities.filter((each) => each !== "runs") });
}

const store = witness.watchHandles(handingOn(witness.watch(access.store)));
/** Those that want one name at the same time. */
const throng = Array.from({ length: access.another === undefined ? 0 : work.stores }, () => {
  return witness.watchHandles(witness.watch(access.another!()));
});
const looked = (remains: Remains) => write({ type: "looked", ...remains });
// A client of ZooKeeper's leader may see a lock that a client of a follower has just released.
const inspector = new Inspector(access.views, now, looked, work.target.kind === "zookeeper");
const registerClient = new Redis(work.register, "127.0.0.1");
const register = new Register(registerClient, work.fences);

/**
 * What a part of a process is after: busy locks; locks that it holds for long; the lock that is mostly free; that
 * which it keeps for as long as it can; the one that many want at the same time; that which only visitors want; or the
 * one that many store objects want.
 */
type Aim = "busy" | "long" | "own" | "kept" | "crowded" | "brief" | "thronged";

/** What the parts of a process are after, besides the crowds. */
const AIMS: readonly Aim[] = ["long", "own", "kept", "busy", "busy", "busy", "busy"];

/** Acquires one lock after another. */
async function live(random: Random, aim: Aim): Promise<void> {
  while (!finishing) {
    await turn(random, aim);
    await sleep(aim === "own" ? random.between(5, 50) : random.chance(0.3) ? random.spread(1, 100) : 0);
  }
}

/** Has many parts of the process want one lock at the same time, again and again: it is handed on among them. */
async function gather(random: Random): Promise<void> {
  while (!finishing) {
    await Promise.all(Array.from({ length: random.integer(...CROWD) }, async () => {
      const own = random.fork();
      // Right behind its release, as those do that want it all the time.
      for (let turns = own.integer(...TURNS); turns > 0 && !finishing; turns--) await turn(own, "crowded");
    }));
    await sleep(random.spread(...CALM));
  }
}

/** Has many store objects want one lock, at the same times as those of other processes. */
async function rush(random: Random): Promise<void> {
  while (!finishing && throng.length > 0) {
    await pause(THRONG_MS - (now() + LOOK_MS) % THRONG_MS, finish.signal);
    const left = await queued();
    await pause(THRONG_MS - now() % THRONG_MS, finish.signal);
    // More processes may be killed than have their turns in that time: the queue would only grow.
    if (!finishing && left <= work.stores) {
      await Promise.all(throng.map((store) => turn(random.fork(), "thronged", { store })));
    }
  }
}

/** Comes again and again, each time as a process that has just begun, and waits for less than a lease. */
async function visit(random: Random): Promise<void> {
  while (!finishing) {
    const visitor = new Visitor(await connect(work, witness, observer), witness);
    await turn(random, "brief", { visitor });
    await pause(random.between(...COMES), finish.signal);
  }
}

/** How often a part holds a lock for long. */
const LONG: Readonly<Record<Aim, number>> = {
  ...{ kept: 1, long: 0.6, brief: 0.5, busy: 0.01, own: 0.01, crowded: 0.002, thronged: 0 },
};

/** Who takes a turn, if not the store of the process. */
interface Other {
  readonly store?: Store;
  /** It ends behind the turn, or dies with the lock. */
  readonly visitor?: Visitor;
}

/** Acquires a lock and uses it. */
async function turn(
  random: Random,
  aim: Aim,
  { visitor, store: from = visitor?.store ?? store }: Other = {},
): Promise<void> {
  const long = random.chance(LONG[aim]);
  const lock = aim === "busy" || aim === "long" ? wanted(long, random) : aim === "thronged" ? THRONGED : work[aim];
  const section = { lock, start: now(), at: ACQUIRES };
  sections.add(section);
  const trace = new Trace();
  const got = await witness.run(trace, () => get(from, lock, random)).catch((error) => {
    const outcome = error instanceof LockError ? error.code : error === "enough" ? "aborted" : undefined;
    if (outcome === undefined) throw error;
    return outcome;
  }).finally(() => section.at = "has its answer");
  if (got === null || typeof got === "string") {
    const outcome = got ?? "busy";
    write({ type: "refused", lock, outcome, start: section.start, end: now() });
    section.at = `is over: ${outcome}`;
    if (visitor === undefined) await inspect(section, trace, outcome);
    else await visitor.end();
    // Whoever is refused comes back later.
    await sleep(random.between(5, 100));
  } else {
    const quick = aim === "crowded" || aim === "thronged";
    const dies = visitor !== undefined && random.chance(DIES);
    await use({ lock: got, trace, long, quick, dies, section }, random);
    if (dies) visitor.die();
    else await visitor?.end();
  }
  witness.forget(trace);
  sections.delete(section);
}

/** Picks the name of the next lock. The locks that are held for long are wanted less often. */
function wanted(long: boolean, random: Random): string {
  const rank = Math.floor(work.locks.length * random.next() ** (long ? 4 : 3));
  return work.locks[long ? work.locks.length - 1 - rank : rank]!;
}

/** Asks for a lock in one of the ways that there are. */
async function get(store: Store, name: string, random: Random): Promise<Lock | null> {
  const lease = work.lease / (random.chance(0.25) ? 2 : 1);
  // A wait without an end shows when a waiter is forgotten: most of a crowd.
  const way = name === work.kept || name === work.crowded && random.chance(0.7) ? 1 : random.next();
  if (name === THRONGED) return await acquire(store, name, { lease });
  if (way < 0.1) return await tryAcquire(store, name, { lease });
  if (name === work.brief) return await acquire(store, name, { lease, wait: lease * random.between(0.05, 0.95) });
  if (way < 0.4) return await acquire(store, name, { lease, wait: random.spread(10, 5_000) });
  if (way < 0.6) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort("enough"), random.spread(1, 2_000));
    return await acquire(store, name, { lease, signal: abort.signal }).finally(() => clearTimeout(timer));
  }
  return await acquire(store, name, { lease });
}

/** A lock that was granted, to be used. */
interface Use {
  readonly lock: Lock;
  readonly trace: Trace;
  readonly long: boolean;
  /** Whether it is used as briefly as a lock that is handed on inside a process. */
  readonly quick: boolean;
  /** Whether its holder dies behind that. */
  readonly dies: boolean;
  readonly section: Section;
}

/** Raises the number that the lock protects, as programs do that rely on the lock more than they should. */
async function use(use: Use, random: Random): Promise<void> {
  const { lock, trace, section } = use;
  const { start } = section;
  const { name, owner, fence } = lock;
  const end = now();
  if (!witness.granted(trace, name, fence)) write({ type: "unfounded", lock: name, owner, at: end });
  const belief = new Belief(lock, trace, start, now, (at, ms) => write({ type: "overdue", lock: name, owner, at, ms }));
  let acted = start;
  const waited = waiting.delete(owner);
  const first = belief.held();
  const handedOn = trace.lease?.wasHandedOn(fence) ?? false;
  write({ type: "granted", lock: name, owner, fence: `${fence}`, start, end, believed: belief.at, waited, handedOn });
  let written = false;
  let trip: number | undefined;
  if (first) {
    acted = now();
    section.at = "reads";
    const number = await register.read(name, fence);
    trip = now() - acted;
    section.at = "stays";
    // Not where many store objects wait: each of them had a late answer, and would stay for a lease.
    if (use.long || name !== THRONGED && trace.lease?.late) await stay(use, belief, random);
    else await sleep(use.quick ? random.integer(0, 2) : random.spread(1, 20));
    if (random.chance(0.05)) void extend(lock, random);
    // Some programs do not look at all; others do, but between looking and acting there is time, and sometimes a lot.
    const careless = random.chance(0.4);
    if (number !== undefined && (careless || belief.held())) {
      if (random.chance(use.quick ? 0.02 : 0.4)) await sleep(random.spread(1, 200));
      acted = now();
      section.at = "writes";
      written = await register.write(name, fence, number + 1);
    }
  }
  write({ type: "section", owner, believed: belief.at, acted: Math.max(belief.at, acted), written, trip });
  if (use.dies) {
    write({ type: "died", owner, at: now() });
    return trace.end();
  }
  const releasing = now();
  section.at = "releases";
  const ended = await lock.release().then(() => ({ outcome: "released" as const }), (error: LockError) => {
    ignoreLockError(error);
    return error.code === "lost" ? { outcome: "lost" as const, why: error.message } : { outcome: "unknown" as const };
  });
  const { outcome } = ended;
  write({ type: "release", lock: name, owner, start: releasing, end: now(), ...ended });
  section.at = `is over: ${outcome}`;
  // One that nobody has answered ends with the lease.
  if (outcome !== "unknown") await inspect(section, trace, outcome);
}

/** Has it looked at what is left of an acquire that is over. */
async function inspect({ lock, start }: Section, trace: Trace, end: string): Promise<void> {
  trace.end();
  await Promise.all(trace.leftovers(end).map((leftover) => inspector.over(lock, { ...leftover, from: start })));
}

/** Holds a lock for several leases, or until it is lost, and asks all the time. */
async function stay({ lock, trace }: Use, belief: Belief, random: Random): Promise<void> {
  const { lease } = trace;
  if (lease === undefined) return;
  if (random.chance(0.07)) await overwork(lock, trace);
  let end = now() + work.lease * random.between(0.5, 4);
  while (belief.held() && now() < end) {
    await sleep(ASKED);
    // What is believed for too long is seen by who stays.
    if (lease.late) end = now() + work.lease;
    lease.late = false;
    // Not awaited: what is believed until the answer comes counts.
    if (random.chance(0.01)) void extend(lock, random);
  }
}

/** Makes a lease as long as most are, or shorter. */
async function extend(lock: Lock, random: Random): Promise<void> {
  await lock.extend(work.lease / random.pick([1, 2])).catch(ignoreLockError);
}

/**
 * Works without a break until the lease is over, while the answer to a renewal lies unread behind another one. It came
 * in time, and nobody has looked.
 */
async function overwork(lock: Lock, trace: Trace): Promise<void> {
  // So late that the renewal reaches further than the lease.
  while (lock.held && trace.deadline - now() > work.lease * 0.75) await sleep(1);
  const extended = lock.extend().catch(ignoreLockError);
  const worked = registerClient.ping().then(() => standStill(trace.deadline + 5 - now()));
  // Both answers have come when the process looks for any.
  standStill(20);
  await Promise.all([extended, worked]);
}

function ignoreLockError(error: unknown): void {
  if (!(error instanceof LockError)) throw error;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const stalls = new Stalls(work.stall, (stall) => write({ type: "stalled", ...stall }));

await registerClient.ping();
write({ type: "ready" });
const random = new Random(work.seed);
const guarded = (committed: boolean) => write({ type: "guarded", committed });
const lives = Promise.all([
  gather(random.fork()),
  rush(random.fork()),
  ...Array.from({ length: VISITORS }, () => visit(random.fork())),
  ...AIMS.map((aim) => live(random.fork(), aim)),
  // Reached directly: a transaction over a connection that is lost in silence waits for as long as TCP does.
  guarding(work.direct, random.fork(), () => finishing, guarded),
]);
// What ends one of them ends the process, with an error.
void lives;
for await (const asked of Deno.stdin.readable) {
  for (const _ of asked) write({ type: "time", at: now() });
}
finishing = true;
finish.abort();
const ending = (at: string) => write({ type: "ending", at });
ending("its calls end");
const enough = new AbortController();
const all = lives.then(() => true);
const settled = await Promise.race([all, settling().then((ms) => pause(ms, enough.signal)).then(() => false)]);
enough.abort();
const pending = [...sections].filter(({ at }) => at === ACQUIRES);
if (!settled && pending.length === 0) {
  const [{ lock, at } = { lock: "none", at: "a visitor or a guarded transaction" }] = sections;
  write({ type: "unhandled", message: `a section did not come to its end: lock ${lock}, ${at}` });
}
write({ type: "finished", pending });
ending("its store stops");
if (store instanceof HandoffStore) await store.stop();
ending("it closes its clients");
access.close();
for (const what of access.unclosed?.() ?? []) write({ type: "unclosed", what });
registerClient.disconnect();
stalls[Symbol.dispose]();
// By itself if it can: what is left over keeps it alive, such as a client that looks for its Sentinels when it is
// closed.
if (pending.length > 0) Deno.exit();
const lingering = setTimeout(() => {
  write({ type: "lingering" });
  Deno.exit();
}, LINGERING) as unknown as { unref(): void };
lingering.unref();
