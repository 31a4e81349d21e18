import { StoreError } from "../../../src/contract/errors.ts";
import type { Observer } from "../../../src/contract/events.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  drift,
  type EvictOptions,
  handleOf,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../../../src/contract/store.ts";
import type { Random } from "../kernel/random.ts";
import type { Server, Tenure } from "./server.ts";
import type { Host, Turns } from "./turns.ts";

/** What a connection is like, and what goes wrong on it. */
export interface Line {
  readonly capabilities: readonly Capability[];
  /** How long a request takes to the server, and a reply from it, in milliseconds: at least, and at most. */
  readonly trip: readonly [number, number];
  /** Whether requests are executed, and answered, in the order in which they were sent. */
  readonly ordered: boolean;
  /** Whether the place of a waiter can be given to another one. */
  readonly succeeds: boolean;
  /** After how many milliseconds a request that is not answered fails; it may be executed nevertheless. */
  readonly timeout: number | undefined;
  /** How likely a request is lost, a reply is lost, both take long, or there never is an answer. */
  readonly faults: { readonly request: number; readonly reply: number; readonly late: number; readonly never: number };
  /** Whether waiters may sleep, as long as another handle of their process names them. */
  readonly sleeps: boolean;
  /** Whether waiters are woken and holders notified, and replies say whether others wait. */
  readonly listens: boolean;
  /** How likely half of a lease has passed when it is granted, as on a store that was granted it itself. */
  readonly ages: number;
  /** The operations that go wrong. */
  readonly faulty: readonly Operation[];
}

/** What a server is asked for. */
export type Operation = "attempt" | "renew" | "release" | "succeed" | "evict" | "query";

/** How long what is late takes, in milliseconds. */
const LATE: readonly [number, number] = [100, 5_000];

/** How long an eviction takes that is late: not longer than a lock is in use. */
const LATE_EVICTION: readonly [number, number] = [1, 50];

/** Who is told what happens on a connection. */
export interface Listener {
  readonly observer: Observer;
  /** A reply came, or an error instead. */
  replied(): void;
  /** Something went wrong. */
  disturbed(): void;
  /** The process was told that it has revoked these. */
  revoked(tenures: readonly Tenure[]): void;
  /** A lease was asked for. */
  asked(claim: Claim): void;
  log(line: () => string): void;
}

/** Where a connection is. */
export interface Fixture {
  readonly process: number;
  readonly server: Server;
  readonly turns: Turns;
  readonly random: Random;
  readonly host: Host;
  readonly listener: Listener;
  label(claim: Claim): string;
}

/** A request that was not answered. */
interface Call {
  readonly fail: (error: Error) => void;
  hangs: boolean;
}

/** What is carried in one direction. */
class Pipe {
  readonly #fixture: Fixture;
  readonly #line: Line;
  /** The machine at its end; `undefined`: the server. */
  readonly #host: Host | undefined;
  readonly #carried: (() => void)[] = [];
  #last = 0;

  constructor(fixture: Fixture, line: Line, host: Host | undefined) {
    this.#fixture = fixture;
    this.#line = line;
    this.#host = host;
  }

  /** Carries something, which takes so many milliseconds longer than usual. */
  carry(run: () => void, longer = 0): void {
    const { turns, random } = this.#fixture;
    const arrives = turns.now + random.integer(...this.#line.trip) + longer;
    const { ordered } = this.#line;
    const at = ordered ? Math.max(this.#last, arrives) : arrives;
    this.#last = at;
    if (ordered) this.#carried.push(run);
    // If several arrive at one moment, each arrival is that of the one that was sent first.
    const arrive = ordered ? () => this.#carried.shift()!() : run;
    if (at <= turns.now) turns.soon(arrive);
    else turns.at(at, arrive, this.#host === undefined ? {} : { host: this.#host });
  }
}

/** The connection of one process to the server: delays, faults, an end. */
export class Connection implements Store {
  readonly drift = drift;
  readonly capabilities: readonly Capability[];
  readonly observer: Observer;
  readonly succeed?: (from: Claim, to: Claim) => Promise<void>;
  closed = false;
  /** Whether things go wrong at random. */
  faulty = true;
  /** Until when the server does not answer, or refuses. */
  outage: { readonly until: number; readonly refuses: boolean } | undefined;
  /** Whether the next request is never answered. */
  hangsNext = false;
  /** What is to be called when it is closed. */
  readonly #ends = new Set<() => void>();
  readonly #fixture: Fixture;
  readonly #line: Line;
  readonly #out: Pipe;
  readonly #back: Pipe;
  readonly #calls = new Set<Call>();
  readonly #sleepers = new Set<() => void>();
  /** The handles that may sleep, and when each handle attempted or was named last. */
  readonly #asleep = new Set<string>();
  readonly #signs = new Map<string, number>();

  constructor(fixture: Fixture, line: Line) {
    this.#fixture = fixture;
    this.#line = line;
    this.capabilities = line.capabilities;
    this.observer = fixture.listener.observer;
    if (!line.listens) Object.assign(this, { wakeup: undefined, revocation: undefined });
    this.#out = new Pipe(fixture, line, undefined);
    this.#back = new Pipe(fixture, line, fixture.host);
    if (!line.succeeds) return;
    this.succeed = (from, to) =>
      this.#request("succeed", from, ` by ${fixture.label(to)}`, () => fixture.server.succeed(from, to));
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const how = options.steal ? " (steal)" : options.enqueue ? "" : " (once)";
    this.#fixture.listener.asked(claim);
    const { process, server } = this.#fixture;
    let revoked: readonly Tenure[] = [];
    const age = this.#fixture.random.chance(this.#line.ages) ? Math.floor(claim.lease / 2) : 0;
    const { sleeps, listens } = this.#line;
    for (const id of [handleOf(claim), ...options.alive ?? []]) this.#signs.set(id, this.#fixture.turns.now);
    const reply = (attempt: Attempt): Attempt => {
      if (sleeps && "retryAfter" in attempt) return { ...attempt, maySleep: true };
      return listens || !attempt.granted ? attempt : { ...attempt, contended: undefined };
    };
    const execute = () => server.attempt(process, claim, options, age, (tenures) => revoked = tenures, reply);
    const answer = this.#request("attempt", claim, how, execute);
    answer.then((attempt) => {
      const { granted } = attempt;
      if ("maySleep" in attempt) this.#asleep.add(handleOf(claim));
      else this.#asleep.delete(handleOf(claim));
      if (granted) { for (const id of attempt.run ?? []) this.#asleep.delete(id); }
      if (granted) server.told(claim);
      if (granted && options.steal) this.#revoked(revoked);
    }, () => {});
    return answer;
  }

  renew(claim: Claim): Promise<Renewal> {
    this.#fixture.listener.asked(claim);
    const { server } = this.#fixture;
    const answer = this.#request("renew", claim, ` for ${claim.lease} ms`, () => server.renew(claim));
    answer.then(() => server.told(claim), () => {});
    return answer;
  }

  /** The handles that may sleep, and have given no sign of life for so many milliseconds: their places are lost. */
  silent(ms: number): string[] {
    const since = this.#fixture.turns.now - ms;
    return [...this.#asleep].filter((id) => this.#signs.get(id)! < since && this.#fixture.server.isQueued(id));
  }

  release(claim: Claim): Promise<boolean> {
    this.#asleep.delete(handleOf(claim));
    this.#fixture.server.releasing(claim);
    return this.#request("release", claim, "", () => this.#fixture.server.release(claim));
  }

  evict(name: string, options?: EvictOptions): Promise<number> {
    let revoked: readonly Tenure[] = [];
    const execute = () => this.#fixture.server.evict(name, options, (tenures) => revoked = tenures);
    const answer = this.#request("evict", undefined, "", execute);
    answer.then(() => this.#revoked(revoked), () => {});
    return answer;
  }

  query(options?: QueryOptions): Promise<Snapshot> {
    return this.#request("query", undefined, "", () => this.#fixture.server.store.query(options));
  }

  forget(claim: Claim): void {
    // The place of a member is kept by its process: nothing is sent.
    this.#fixture.server.store.forget(claim);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const { random } = this.#fixture;
    if (this.#goesWrong(random.chance(this.#line.faults.request))) {
      return new Promise((_, reject) => this.#back.carry(() => reject(new Error("the subscription failed"))));
    }
    return this.#notified(signal, (there) => this.#fixture.server.store.wakeup(claim, there));
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#notified(signal, (there) => this.#fixture.server.store.revocation(claim, there));
  }

  /** Closes it: nothing is sent any more, and what is not answered fails. */
  close(): void {
    this.closed = true;
    for (const { fail } of [...this.#calls]) fail(new StoreError("the connection was closed", { permanent: true }));
    for (const wake of [...this.#sleepers]) wake();
    for (const run of this.#ends) run();
  }

  onClosed(run: () => void): () => void {
    this.#ends.add(run);
    return () => this.#ends.delete(run);
  }

  /** Ends what goes wrong. What was never answered fails, as when a connection is made anew. */
  heal(): void {
    this.faulty = false;
    this.hangsNext = false;
    this.outage = undefined;
    for (const { hangs, fail } of [...this.#calls]) {
      if (!hangs) continue;
      this.#fixture.listener.disturbed();
      fail(new Error("cut off"));
    }
  }

  #request<T>(operation: Operation, claim: Claim | undefined, how: string, execute: () => Promise<T>): Promise<T> {
    const { listener, turns, host } = this.#fixture;
    const what = `${claim === undefined ? "" : `${this.#fixture.label(claim)} `}${operation}${how}`;
    if (this.closed) return Promise.reject(new StoreError("the connection was closed", { permanent: true }));
    return new Promise((resolve, reject) => {
      const settle = (outcome: string, run: () => void) => {
        if (!this.#calls.delete(call)) return;
        timer?.cancel();
        listener.log(() => `${what}: ${outcome}`);
        run();
        listener.replied();
      };
      const fail = (error: Error) => settle(error.message, () => reject(error));
      const call: Call = { fail, hangs: false };
      this.#calls.add(call);
      const { timeout } = this.#line;
      const late = () => {
        listener.disturbed();
        fail(new Error(`no answer within ${timeout} ms`));
      };
      const timer = timeout === undefined ? undefined : turns.at(turns.now + timeout, late, { host, timer: true });
      const answer = (value: T) => settle(shown(value), () => resolve(value));
      call.hangs = this.#carry(operation, what, execute, answer, fail);
    });
  }

  /** Has a request executed and answered, or not, as chance has it. Returns whether it is never answered. */
  #carry<T>(
    operation: Operation,
    what: string,
    execute: () => Promise<T>,
    answer: (value: T) => void,
    fail: (error: Error) => void,
  ): boolean {
    const { random, listener, turns } = this.#fixture;
    const { request, reply, late, never } = this.#line.faults;
    const faulty = this.#line.faulty.includes(operation);
    const isLost = this.#goesWrong(faulty && random.chance(request));
    const isUnheard = this.#goesWrong(faulty && random.chance(reply));
    const isLate = this.#goesWrong(faulty && random.chance(late));
    const hangs = this.#goesWrong(this.hangsNext || faulty && random.chance(never));
    this.hangsNext = false;
    const outage = this.outage !== undefined && this.outage.until > turns.now ? this.outage : undefined;
    const fate = outage !== undefined
      ? outage.refuses ? "refused" : "held up"
      : hangs
      ? "never answered"
      : isLost
      ? "lost"
      : isUnheard
      ? "executed, reply lost"
      : isLate
      ? "late"
      : "";
    listener.log(() => `${what} is sent${fate === "" ? "" : `: ${fate}`}`);
    if (outage?.refuses || isLost) {
      // Some stores know that nothing was done.
      const error = random.chance(1 / 2) ? new StoreError("not connected") : new Error("cut off");
      this.#back.carry(() => fail(error));
      return false;
    }
    if (hangs && random.chance(1 / 2)) return true;
    const lateness = operation === "evict" ? LATE_EVICTION : LATE;
    const longer = outage === undefined ? isLate ? random.integer(...lateness) : 0 : outage.until - turns.now;
    this.#out.carry(() => {
      void execute().then((value) => {
        listener.log(() => `  server: ${what}: ${shown(value)}`);
        if (hangs) return;
        this.#back.carry(() => isUnheard ? fail(new Error("cut off")) : answer(value));
      });
    }, longer);
    return hangs;
  }

  #revoked(tenures: readonly Tenure[]): void {
    this.#fixture.listener.revoked(tenures);
  }

  /** Resolves when the server says so; that may be lost. */
  #notified(signal: AbortSignal, listen: (there: AbortSignal) => Promise<unknown>): Promise<void> {
    if (this.closed || signal.aborted) return Promise.resolve();
    const isLost = this.#goesWrong(this.#fixture.random.chance(this.#line.faults.reply));
    return new Promise((resolve) => {
      const there = new AbortController();
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#sleepers.delete(done);
        this.#out.carry(() => there.abort("over"));
        resolve();
      };
      signal.addEventListener("abort", done);
      this.#sleepers.add(done);
      this.#out.carry(() => {
        void listen(there.signal).then(() => {
          if (!there.signal.aborted && !isLost) this.#back.carry(() => this.#sleepers.has(done) && done());
        });
      });
    });
  }

  /** Returns whether something goes wrong that would, and tells it. */
  #goesWrong(would: boolean): boolean {
    const does = this.faulty && would;
    if (does) this.#fixture.listener.disturbed();
    return does;
  }
}

function shown(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if ("held" in value) return "a listing";
  if (!("granted" in value)) return JSON.stringify(value);
  if (!value.granted) return "conflict" in value ? "conflict" : "busy";
  const { fence, fences = 1, run = [], age = 0 } = value as Attempt & { granted: true };
  const more = fences > 1 ? ` to ${fence + BigInt(fences - 1)}` : run.length > 0 ? ` with a run of ${run.length}` : "";
  return `granted ${fence}${more}${age > 0 ? `, age ${age}` : ""}`;
}
