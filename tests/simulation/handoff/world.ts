import { setImmediate } from "node:timers/promises";
import { acquire, tryAcquire } from "../../../src/lock/acquire.ts";
import { acquireAll } from "../../../src/lock/acquire_all.ts";
import type { LockEvent } from "../../../src/contract/events.ts";
import type { Claim, Store } from "../../../src/contract/store.ts";
import { Random } from "../kernel/random.ts";
import type { RunOutcome } from "../kernel/runs.ts";
import { Connection, type Fixture } from "./connection.ts";
import type { Flaw } from "./flaws.ts";
import { Handle, type Held, type Wish } from "./handle.ts";
import { ABORTED, type Court, Judge } from "./judge.ts";
import { type Door, HostClock, Process } from "./process.ts";
import type { Deed, Scenario } from "./scenario.ts";
import { Server, type Tenure } from "./server.ts";
import { makeServer, makeStores, type Mechanism } from "./stores.ts";
import { Turns } from "./turns.ts";

/** How long after the last fault every waiter must have been granted the lock, or have given up, in milliseconds. */
const SETTLED_MS = 40_000;

/** After so many milliseconds all leases have ended, and all that is retried has been given up. */
const QUIET_MS = 70_000;

/** How long a call that has failed may take to undo what it has done, in milliseconds. */
const UNDONE_MS = 1_000;

/** For how long a lock is kept at the least that is, in milliseconds. */
const KEPT_MS = 300;

/** How long handles wait in the end whose leases are shorter than the way to the server, in milliseconds. */
const HOPELESS_MS = 5_000;

/** How to run a world. */
export interface WorldOptions {
  /** Takes each line of the log. */
  readonly log?: ((line: string) => void) | undefined;
  /** What the connection of a process does wrong. */
  readonly flaw?: Flaw | undefined;
  /** What hands locks on. */
  readonly mechanism?: Mechanism | undefined;
}

/** What the tasks of one call have asked for. */
interface Call {
  readonly handles: readonly Handle[];
  readonly abort: AbortController;
}

/** One run: a server, processes, and what their tasks do. */
export class World implements Court {
  readonly scenario: Scenario;
  readonly turns: Turns;
  readonly server: Server;
  readonly processes: readonly Process[];
  readonly handles: Handle[] = [];
  readonly #random: Random;
  /** Draws what was added later, so that the other draws stay what they are. */
  readonly #extra: Random;
  readonly #judge: Judge;
  readonly #log: ((line: string) => void) | undefined;
  readonly #flaw: Flaw | undefined;
  readonly #mechanism: Mechanism | undefined;
  readonly #calls: Call[] = [];
  readonly #revokedAt = new Map<string, number>();
  /** The longest lease that the handles of a process have asked for. */
  readonly #longest = new Map<string, number>();
  readonly #ids = new Map<string, string>();
  #left: number;
  /** How many attempts there were. */
  #attempts = 0;
  #granted = 0;

  constructor(seed: number, scenario: Scenario, { log, flaw, mechanism }: WorldOptions = {}) {
    this.scenario = scenario;
    this.#log = log;
    this.#flaw = flaw;
    this.#mechanism = mechanism;
    this.#random = new Random(seed ^ 0x5eed);
    this.#extra = new Random(seed ^ 0xe7a);
    this.turns = new Turns(this.#random.fork());
    this.server = new Server(makeServer(new HostClock(this.turns)), () => this.turns.now, (tenure, passedOver) => {
      this.#judge.tenure(tenure, passedOver);
    });
    this.#judge = new Judge(this);
    this.#left = scenario.deeds;
    this.processes = Array.from({ length: scenario.processes }, (_, i) => this.#makeProcess(i));
  }

  revokedAt(name: string): number {
    return this.#revokedAt.get(name) ?? -Infinity;
  }

  /** Runs it to its end, or until something is wrong. */
  async run(): Promise<RunOutcome> {
    this.#note(() => describe(this.scenario));
    this.#burst();
    await this.#goOn(() => this.#left > 0, Infinity);
    this.#heal();
    this.turns.at(this.turns.now + HOPELESS_MS, () => this.#abortHopeless());
    const stalled = Math.max(this.turns.now, ...this.processes.map(({ stalledUntil }) => stalledUntil));
    // One that is forgotten has the lock for its lease.
    const forgotten = this.handles.filter((handle) => handle.forgotten).reduce((sum, { lease }) => sum + lease, 0);
    const sections = this.#calls.length * Math.max(...this.scenario.sections);
    const until = stalled + SETTLED_MS + sections + forgotten;
    await this.#goOn(
      () => this.handles.some(({ phase, forgotten }) => phase === "waiting" || phase === "held" && !forgotten),
      until,
    );
    if (this.#isFine) await this.#end();
    return { violations: this.#judge.violations, granted: this.#granted };
  }

  get #isFine(): boolean {
    return this.#judge.violations.length === 0;
  }

  /** Goes on while that is so, until a time or until something is wrong. */
  async #goOn(condition: () => boolean, until: number): Promise<void> {
    while (this.#isFine && condition() && await this.turns.next(until)) this.#judge.turn();
  }

  /** Does a few things in one turn, and soon some more. */
  #burst(): void {
    const { now } = this.turns;
    // While nobody runs time goes on.
    const asleep = Math.min(...this.processes.map(({ stalledUntil }) => stalledUntil));
    const number = this.#random.integer(1, this.#random.pick([1, 2, 6]));
    for (let i = 0; i < number; i++) this.turns.soon(() => this.#doSomething());
    this.turns.at(
      Math.max(now + this.#random.pick(this.scenario.pauses), asleep),
      () => this.#left > 0 && this.#burst(),
    );
  }

  /** Does something in a process that runs. */
  #doSomething(process: Process = this.#random.pick(this.processes)): void {
    if (this.#left <= 0 || process.stalledUntil > this.turns.now) return;
    this.#left--;
    this.#do(this.#draw(), process);
  }

  #draw(): Deed {
    const { weights } = this.scenario;
    let rest = this.#random.next() * [...weights.values()].reduce((sum, weight) => sum + weight, 0);
    for (const [deed, weight] of weights) {
      rest -= weight;
      if (rest < 0) return deed;
    }
    return "acquire";
  }

  #do(deed: Deed, process: Process): void {
    const { connection, stores, number } = process;
    const random = this.#random;
    const name = random.pick(this.scenario.names);
    switch (deed) {
      case "abort": {
        const call = this.#pickCall(process, "waiting");
        if (call === undefined) return;
        this.#note(() => `${labels(call)} is aborted`);
        for (const handle of call.handles) handle.aborted = true;
        return call.abort.abort(ABORTED);
      }
      case "release": {
        const call = this.#pickCall(process, "held");
        return call && this.#release(call);
      }
      case "extend": {
        const call = this.#pickCall(process, "held");
        const lease = random.pick(this.scenario.leases);
        if (call === undefined || call.handles[0]!.forgotten) return;
        this.#note(() => `${labels(call)} is extended to ${lease} ms`);
        this.#allow(process, call.handles, lease);
        for (const handle of call.handles) handle.shortest = Math.min(lease, handle.shortest);
        return void call.handles[0]!.held!.extend(lease).catch(() => {});
      }
      case "query":
        return void stores.store.query!(random.chance(1 / 2) ? { name } : this.#extra.pick([{}, { limit: 1 }])).catch(
          () => {},
        );
      case "evict":
        return this.#evict(process, name);
      case "stall":
        process.stalledUntil = this.turns.now + random.pick([500, 3_000, 60_000]);
        this.#note(() => `process ${number} stalls until ${process.stalledUntil}`);
        return this.#disturb(process);
      case "outage":
        connection.outage = {
          until: this.turns.now + random.pick(this.scenario.outages),
          refuses: random.chance(1 / 2),
        };
        this.#note(() =>
          `process ${number} ${connection.outage!.refuses ? "is refused" : "is not answered"} until ${
            connection.outage!.until
          }`
        );
        return this.#disturb(process);
      case "hang":
        connection.hangsNext = true;
        return this.#disturb(process);
      case "close":
        this.#note(() => `process ${number} closes its connection`);
        process.closedAt ??= this.turns.now;
        this.#disturb(process);
        return connection.close();
      case "dispose":
        if (stores.dispose === undefined || process.disposed) return;
        this.#note(() => `process ${number} disposes of its store`);
        process.disposed = true;
        this.#disturb(process);
        return void stores.dispose().catch((error) => this.#judge.violated("disposal failed", `${error}`));
      default:
        return this.#begin(deed, process);
    }
  }

  #evict(process: Process, name: string): void {
    const { stores: { store, target }, decorator } = process;
    const [through, door] = this.#random.pick(
      [["store", store], ["target", target], ["decorator", decorator]] as const,
    );
    this.#note(() => `process ${process.number} evicts "${name}" through its ${through}`);
    this.#revokedAt.set(name, this.turns.now);
    const meant = this.#someHolder(process, name);
    const options = meant === undefined
      ? undefined
      : this.#extra.chance(1 / 2)
      ? { fence: meant.fence! }
      : { handle: meant.ids.at(-1)! };
    door.evict!(name, options).then(() => {
      this.#revokedAt.set(name, this.turns.now);
      if (meant !== undefined) this.#judge.evicted(meant);
    }, () => {});
  }

  /** Returns a holder of a process, if one is to be evicted alone. */
  #someHolder(process: Process, name: string): Handle | undefined {
    const held = this.handles.filter((each) => each.process === process && each.name === name && each.believes);
    return held.length === 0 || this.#extra.chance(1 / 2) ? undefined : this.#extra.pick(held);
  }

  /** Notes that a process was told that it has revoked a lock. */
  #revoked(process: number, tenures: readonly Tenure[]): void {
    const { turn, hop } = this.turns;
    for (const tenure of tenures) if (tenure.process === process) tenure.ownRevocation ??= { turn, hop };
  }

  /** Has a task ask for a lock. */
  #begin(deed: Deed, process: Process): void {
    const random = this.#random;
    const { stores: { store, target }, decorator } = process;
    const { names, leases, forgets, keeps } = this.scenario;
    const asksOnce = deed === "try" || deed === "all" && random.chance(1 / 4);
    const steals = deed === "steal";
    const wait = asksOnce ? 0 : random.chance(3 / 4) ? Infinity : random.pick([1, 5, 30, 300]);
    const wish = {
      kind: deed === "shared" ? "shared" : deed === "permits" ? 2 : "exclusive",
      owner: deed === "owner" ? random.pick(["x", "y"]) : undefined,
      lease: random.pick(leases),
      wait: steals && random.chance(1 / 2) ? 0 : wait,
      steals,
      joint: deed === "all",
      forgotten: random.chance(forgets),
      atLeast: deed !== "all" && this.#extra.chance(keeps) ? KEPT_MS : 0,
    } as const;
    const usual = this.scenario.door > 0 ? decorator : store;
    const through = steals ? random.pick([store, target, decorator]) : random.chance(9 / 10) ? usual : target;
    const wanted = deed !== "all" || random.chance(1 / 2) ? [random.pick(names)] : names;
    const label = `${process.number}.${this.#calls.length + 1}`;
    const handles = wanted.map((name) => new Handle({ ...wish, name }, label, process, through));
    this.handles.push(...handles);
    const call: Call = { handles, abort: new AbortController() };
    this.#calls.push(call);
    this.#allow(process, handles, Math.max(wish.lease, wish.atLeast));
    if (steals) this.#revokedAt.set(wanted[0]!, this.turns.now);
    this.#note(() =>
      `${labels(call)} wants ${wanted} ${shownWish(wish, through === store ? "" : "not through the store")}`
    );
    this.#ask(call, through, wish, wanted).then((held) => {
      if (held === null) return this.#refused(call);
      this.#held(call, held.lock, held.fences);
    }, (error) => this.#failed(call, error));
  }

  async #ask(call: Call, store: Store, wish: Omit<Wish, "name">, names: readonly string[]) {
    const { kind, owner, lease, wait, steals, joint, forgotten, atLeast } = wish;
    const options = {
      ...{
        lease,
        owner,
        renew: !forgotten,
        steal: steals,
        signal: call.abort.signal,
        meta: { task: call.handles[0]!.label },
      },
      ...kind === "shared" ? { mode: "shared" as const } : {},
      ...typeof kind === "number" ? { permits: kind } : {},
    };
    if (joint) {
      const locks = await acquireAll(store, names, { ...options, wait });
      return { lock: locks as Held, fences: locks.fences };
    }
    const name = names[0]!;
    const single = { ...options, atLeast };
    const lock = wait === 0 ? await tryAcquire(store, name, single) : await acquire(store, name, { ...single, wait });
    return lock && { lock: lock as Held, fences: new Map([[name, lock.fence]]) };
  }

  #refused(call: Call): void {
    this.#note(() => `${labels(call)} finds the lock busy`);
    for (const handle of call.handles) {
      this.#over(handle);
      handle.settledAt = this.turns.now;
      this.#judge.refused(handle);
    }
  }

  #failed(call: Call, error: unknown): void {
    this.#note(() => `${labels(call)} fails: ${error === ABORTED ? "aborted" : error}`);
    for (const handle of call.handles) {
      this.#over(handle);
      handle.settledAt = this.turns.now + UNDONE_MS;
      this.#judge.failed(handle, error);
    }
  }

  #held(call: Call, lock: Held, fences: ReadonlyMap<string, bigint>): void {
    this.#granted++;
    this.#note(() => `${labels(call)} holds the lock, fence ${[...fences.values()]}`);
    for (const handle of call.handles) {
      handle.phase = "held";
      handle.held = lock;
      handle.fence = fences.get(handle.name)!;
      this.#judge.granted(handle, fences.get(handle.name)!);
      if (handle.steals) this.#revokedAt.set(handle.name, this.turns.now);
    }
    const { process, forgotten } = call.handles[0]!;
    const random = this.#random;
    if (random.chance(this.scenario.reads)) void lock.signal;
    if (forgotten) return;
    const section = random.pick(this.scenario.sections);
    const release = () => this.#release(call);
    if (section === 0) this.turns.soon(release);
    else this.turns.at(this.turns.now + section, release, { host: process });
  }

  #release(call: Call): void {
    const { process, held, phase } = call.handles[0]!;
    if (phase !== "held") return;
    this.#note(() => `${labels(call)} releases`);
    for (const handle of call.handles) this.#over(handle);
    const settle = () => {
      for (const handle of call.handles) handle.settledAt = this.turns.now;
    };
    held!.release().then(settle, (error) => {
      settle();
      this.#note(() => `${labels(call)}: its release fails: ${error}`);
      this.#judge.releaseFailed(call.handles, error);
    });
    if (this.#random.chance(this.scenario.repeats)) {
      this.turns.soon(() => this.#doSomething(process), this.#random.integer(0, 3));
    }
  }

  #over(handle: Handle): void {
    handle.phase = "over";
  }

  #pickCall(process: Process, phase: Handle["phase"]): Call | undefined {
    const calls = this.#calls.filter(({ handles: [handle] }) =>
      handle!.process === process && handle!.phase === phase && !handle!.aborted
    );
    return calls.length === 0 ? undefined : this.#random.pick(calls);
  }

  /** From here on nothing goes wrong. */
  #heal(): void {
    this.#note(() => "all goes well from now on");
    for (const { connection } of this.processes) connection.heal();
  }

  /** Has the handles give up whose leases end on the way: nobody can say when they are granted the lock. */
  #abortHopeless(): void {
    for (const { handles, abort } of this.#calls) {
      if (handles[0]!.phase !== "waiting" || this.#judge.isSafe(handles[0]!.lease)) continue;
      for (const handle of handles) handle.aborted = true;
      abort.abort(ABORTED);
    }
  }

  /** Has everybody release, and looks for what is left. */
  async #end(): Promise<void> {
    for (const { label, phase } of this.handles) {
      if (phase === "waiting") this.#judge.violated("asleep at the end", `${label} still waits`);
    }
    if (!this.#isFine) return;
    for (const call of this.#calls) this.#release(call);
    await this.#goOn(() => true, this.turns.now + QUIET_MS);
    if (!this.#isFine) return;
    const left = (what: string, is: unknown) => this.#judge.violated("left behind", `${what}: ${is}`);
    const present = await this.server.store.query();
    for (const { name, handle, meta } of present.held) {
      left(`the server has a holder of ${name}`, meta?.["task"] ?? handle);
    }
    if (this.#leavesNothing) {
      for (const { name, handle, meta } of present.pending) {
        left(`the server has a waiter for ${name}`, meta?.["task"] ?? handle);
      }
      const { names } = this.server.store;
      if (present.held.length + present.pending.length === 0 && names.length > 0) {
        left("the server keeps places", names);
      }
    }
    const known = new Set([...present.held, ...present.pending].map(({ handle }) => handle));
    for (const { number, stores, clock, closedAt } of this.processes) {
      if (!this.#isFine) return;
      if (closedAt === undefined) {
        const listing = stores.store.query!();
        await this.#goOn(() => true, this.turns.now + 1_000);
        const { held, pending } = await listing;
        for (const { handle, meta } of [...held, ...pending]) {
          if (!known.has(handle)) left(`process ${number} lists a handle`, meta?.["task"]);
        }
      }
      if (stores.kept() > 0) left(`process ${number} keeps names`, stores.kept());
      if (clock.pending > 0) left(`process ${number} has timers`, clock.pending);
    }
    await setImmediate();
  }

  /**
   * Whether nothing may be left in the queue of the server. A release that is executed before an attempt which has
   * failed, or cannot be sent for seconds, leaves a place there, also without handing on.
   */
  get #leavesNothing(): boolean {
    const { line, weights, theme, door } = this.scenario;
    // One of two attempts of a handle may be executed after its release.
    if (door > 0 && !line.ordered) return false;
    if (theme !== "faults" && theme !== "ends") return true;
    return line.ordered && (["stall", "outage", "close"] as const).every((deed) => weights.get(deed) === 0);
  }

  #makeProcess(number: number): Process {
    const connect = (host: Process): Connection => {
      const fixture: Fixture = {
        ...{ process: number, server: this.server, turns: this.turns, random: this.#random, host },
        listener: {
          observer: ({ type }: LockEvent) => {
            if (type === "fault") host.faultedAt = this.turns.now;
            this.#note(() => `  process ${number}: ${type}`);
          },
          replied: () => {
            if (this.#random.chance(this.scenario.reacts)) this.turns.soon(() => this.#doSomething(host));
          },
          disturbed: () => this.#disturb(host),
          revoked: (tenures) => this.#revoked(number, tenures),
          asked: (claim) => this.#judgeLease(host, claim),
          log: (line) => this.#note(() => `  process ${number}: ${line()}`),
        },
        label: (claim) => taskOf(claim) ?? this.#idLabel(host, claim),
      };
      return new Connection(fixture, this.scenario.line);
    };
    const make = ({ connection, clock }: Process) => {
      this.#flaw?.(connection);
      return makeStores(connection, clock, this.scenario.handoff, this.scenario.bare, this.#mechanism);
    };
    const process = new Process(number, this.turns, connect, make, (self) => this.#door(self));
    const { stores: { store, target }, decorator } = process;
    this.#watch(store, [store, decorator]);
    if (target !== store) this.#watch(target, [target]);
    return process;
  }

  /** Has calls lost, and made twice, between the callers of a process and its store, until all goes well. */
  #door(process: Process): Door {
    const goesWrong = () => {
      const does = process.connection.faulty && this.#extra.chance(this.scenario.door);
      if (does) this.#disturb(process);
      return does;
    };
    return {
      doubles: goesWrong,
      loses: (claim) => {
        const does = goesWrong();
        const task = does ? taskOf(claim) : undefined;
        for (const each of this.handles) if (each.label === task && each.name === claim.name) each.lost();
        return does;
      },
      later: (run) => void this.turns.at(this.turns.now + this.#extra.pick([0, 1, 50, 500]), run, { host: process }),
    };
  }

  /** Has the handles that were asked for at these doors note the attempts that are made for them at a store. */
  #watch(store: Store, doors: readonly Store[]): void {
    const attempt = store.attempt.bind(store);
    store.attempt = (claim, options) => {
      const answer = attempt(claim, options);
      const task = taskOf(claim);
      this.handles.find((each) => doors.includes(each.store) && each.label === task && each.name === claim.name)
        ?.attempted(claim, options, answer, ++this.#attempts);
      return answer;
    };
  }

  /** Names an id that a process has made. */
  #idLabel({ number }: Process, { owner }: Claim): string {
    if (!this.#ids.has(owner)) this.#ids.set(owner, `id ${number}.${this.#ids.size + 1}`);
    return this.#ids.get(owner)!;
  }

  #disturb(process: Process): void {
    process.disturbedAt = this.turns.now;
  }

  #allow({ number }: Process, handles: readonly Handle[], lease: number): void {
    for (const { name } of handles) {
      const key = `${number} ${name}`;
      this.#longest.set(key, Math.max(lease, this.#longest.get(key) ?? 0));
    }
  }

  #judgeLease({ number }: Process, { name, lease }: Claim): void {
    if (lease <= (this.#longest.get(`${number} ${name}`) ?? 0)) return;
    this.#judge.violated("lease longer than wished", `process ${number} asks for a lease of ${lease} ms`);
  }

  #note(line: () => string): void {
    this.#log?.(
      `${String(this.turns.now - 1_000).padStart(6)} ms ${String(this.turns.turn).padStart(5)}/${
        String(this.turns.hop).padEnd(3)
      } ${line()}`,
    );
  }
}

/** Returns the task that a claim is for; `undefined` of an id that a process has made. */
function taskOf({ meta }: Claim): string | undefined {
  return /"task":"([^"]*)"/.exec(meta ?? "")?.[1];
}

function labels({ handles }: Call): string {
  return handles[0]!.label;
}

function shownWish(
  { kind, owner, lease, wait, steals, joint, forgotten, atLeast }: Omit<Wish, "name">,
  more: string,
): string {
  const what = [
    kind === "exclusive" ? "" : typeof kind === "number" ? `${kind} permits` : kind,
    owner === undefined ? "" : `owner ${owner}`,
    steals ? "steals" : "",
    joint ? "with acquireAll" : "",
    forgotten ? "and forgets it" : "",
    atLeast > 0 ? `for ${atLeast} ms at least` : "",
    wait === Infinity ? "" : `wait ${wait}`,
    more,
  ].filter((each) => each !== "");
  return `for ${lease} ms${what.length > 0 ? ` (${what.join(", ")})` : ""}`;
}

function describe({ theme, handoff, line, processes, leases, sections }: Scenario): string {
  const how = typeof handoff === "string" ? handoff : `keep ${handoff.keep}, linger ${handoff.linger}`;
  const { trip, ordered, timeout, capabilities } = line;
  return `${theme}; handoff: ${how}; ${processes} processes; trips of ${trip.join(" to ")} ms${
    ordered ? "" : ", any order"
  }` +
    `${timeout === undefined ? "" : `, timeout ${timeout}`}; ${capabilities.slice(6).join(" and ")}; ` +
    `leases ${leases}; sections ${sections}`;
}
