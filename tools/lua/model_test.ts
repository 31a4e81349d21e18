// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import type { QuorumNode } from "../../src/contract/quorum_node.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { RESERVATION_MS, TURN } from "../../src/stores/redis/constants.ts";
import { lockKeys } from "../../src/stores/redis/keys/keys.ts";
import * as scripts from "../../src/stores/redis/scripts/generated.ts";
import { type Attempt, type Claim, type Entry, handleOf, type Kind, kindOf } from "../../src/contract/store.ts";
import { claimOf } from "../../tests/support/claims.ts";
import { VirtualClock } from "../../tests/support/virtual_clock.ts";
import { FakeClient } from "../../tests/stores/redis/fake_client.ts";
import { Random } from "../../tests/simulation/kernel/random.ts";
import { ScriptServer } from "./server.ts";
import { serverStore } from "../../tests/support/server_store.ts";

/** How many runs there are, and how many steps each has. */
const RUNS = 150;
const STEPS = 40;

/** What the clock moves by, in milliseconds: less than after which a store takes a waiter for dead. */
const PAUSES_MS = [0, 0, 10, 100, 290, 300];

/**
 * Not shorter than a reservation, which is the least that a waiter gets on Redis. None ends when something is done: on
 * Redis the lock is free a millisecond later.
 */
const LEASES_MS = [RESERVATION_MS + 5, 2_005, 60_005];

/** The keys of the lock. */
const KEYS = lockKeys("lock:a");

const KINDS: readonly Kind[] = ["exclusive", "shared", 2, 3];

Deno.test("MemoryStore and the scripts serve a queue alike, whatever is done to the lock", async () => {
  let granted = 0;
  for (let seed = 1; seed <= RUNS; seed++) granted += await new Run(seed).play();
  assert(granted > RUNS * STEPS / 6, `only ${granted} grants`);
});

/** One lock in two stores, to which the same is done at the same moments. */
class Run {
  readonly #random: Random;
  readonly #clock = new VirtualClock();
  readonly #server: ScriptServer;
  readonly #stores: readonly QuorumNode[];
  readonly #what: string[];
  /** The kinds and owners that this run has, so that not every run is full of conflicts. */
  readonly #kinds: readonly Kind[];
  readonly #owners: readonly (string | undefined)[];
  readonly #claims: Claim[] = [];
  /** Those that wait, in the order of the queue. */
  #waiting: Claim[] = [];
  /** The handles that the scripts have woken since their last attempts. */
  readonly #woken = new Set<string>();
  readonly #fences: ReadonlyMap<QuorumNode, Fences>;
  #granted = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#what = [`seed ${seed}`];
    const pick = () => this.#random.pick(KINDS);
    this.#kinds = this.#random.pick([["exclusive"], ["shared", "exclusive"], [2], ["shared"], [
      pick(),
      pick(),
      pick(),
    ]]);
    this.#owners = this.#random.pick([[undefined], [undefined, undefined, "x", "y"], [undefined, "x", "x", "x"]]);
    this.#server = serverOn(this.#clock, (handle) => this.#woken.add(handle));
    this.#stores = [new MemoryStore(undefined, this.#clock), storeOn(this.#server)];
    this.#fences = new Map(this.#stores.map((store) => [store, new Fences(this.#clock)]));
  }

  /** Returns how many attempts were granted. */
  async play(): Promise<number> {
    for (let step = 0; step < STEPS; step++) {
      this.#clock.stall(this.#random.pick(PAUSES_MS));
      await this.#settle(false);
      await this.#step();
      await this.#settle(true);
      await this.#both("query", (store) => this.#query(store));
      checkKeys(this.#server, this.#what.slice(-12));
    }
    return this.#granted;
  }

  /** Does something in both stores, which must come to the same. */
  async #both<T>(what: string, act: (store: QuorumNode) => Promise<T>): Promise<T> {
    this.#what.push(`${this.#clock.now().monotonic}: ${what}`);
    const [expected, actual] = [await act(this.#stores[0]!), await act(this.#stores[1]!)];
    assertEquals(actual, expected, this.#what.slice(-60).join("\n"));
    return expected;
  }

  /** Lists what a store has. */
  async #query(store: QuorumNode): Promise<unknown> {
    const { held, pending } = await store.query!();
    this.#fences.get(store)!.keep(held.map(({ owner }) => owner));
    return { held: held.map(entryText).sort(), pending: pending.map(entryText) };
  }

  async #attempt(claim: Claim, enqueue: boolean, steal = false): Promise<boolean> {
    const what = `attempt ${steal ? "steals " : ""}${enqueue ? "queues " : ""}${shown(claim)}`;
    this.#woken.delete(handleOf(claim));
    const outcome = await this.#both(what, async (store) => {
      await this.#query(store);
      const attempt = await store.attempt(claim, { enqueue, steal });
      if (attempt.granted) this.#fences.get(store)!.note(claim, attempt.fence, what);
      return outcomeOf(attempt);
    });
    this.#waiting = this.#waiting.filter((waiter) => waiter !== claim || outcome === "busy");
    if (outcome === "busy" && enqueue && !this.#waiting.includes(claim)) this.#waiting.push(claim);
    if (outcome === "granted") this.#granted++;
    return outcome === "granted";
  }

  /**
   * Has all waiters ask again, in their order, until none is granted any more. Unless time has passed, and leases with
   * it, those that are granted must have been woken.
   */
  async #settle(woken: boolean): Promise<void> {
    for (let granted = true; granted;) {
      granted = false;
      for (const claim of [...this.#waiting]) {
        const expected = !woken || this.#woken.has(handleOf(claim));
        if (!await this.#attempt(claim, true)) continue;
        assert(expected, `${this.#what.join("\n")}\nwas not woken`);
        granted = true;
      }
    }
  }

  async #step(): Promise<void> {
    const random = this.#random;
    if (this.#claims.length === 0 || random.chance(0.35)) this.#claims.push(this.#newClaim());
    const claim = random.pick(this.#claims.slice(-6));
    const steps: (() => Promise<unknown>)[] = [
      () => this.#attempt(claim, random.chance(0.7)),
      () => this.#attempt(this.#claims.at(-1)!, true),
      // Only an exclusive lock can be stolen.
      () => this.#attempt(claim, false, random.chance(0.2) && kindOf(claim) === "exclusive"),
      () => this.#both(`renew ${shown(claim)}`, (store) => store.renew(claim)),
      () => this.#renewAs({ ...claim, lease: random.pick([105, 305, 60_005]), renewal: random.integer(1, 3) }),
      () => this.#release(claim),
      () => this.#release(claim),
      () => random.chance(0.3) ? this.#both("evict", (store) => store.evict!(claim.name)) : this.#release(claim),
      // A quorum has neither permits nor explicit owners.
      () =>
        claim.permits ?? claim.handle
          ? this.#release(claim)
          : this.#both(`inspect ${shown(claim)}`, (store) => store.inspect(claim).then(({ state }) => state)),
    ];
    await random.pick(steps)();
  }

  async #renewAs(claim: Claim): Promise<void> {
    const what = `renew ${shown(claim)} for ${claim.lease} ms as ${claim.renewal}`;
    await this.#both(what, (store) => store.renew(claim));
  }

  async #release(claim: Claim): Promise<void> {
    await this.#both(`release ${shown(claim)}`, (store) => store.release(claim));
    this.#waiting = this.#waiting.filter((waiter) => waiter !== claim);
  }

  #newClaim(): Claim {
    const owner = this.#random.pick(this.#owners);
    const claim = claimOf("a", this.#random.pick(this.#kinds), this.#random.pick(LEASES_MS), owner);
    return this.#random.chance(0.2) ? claim : { ...claim, meta: JSON.stringify({ job: `${this.#claims.length}: ü` }) };
  }
}

/** Fails when the scripts keep a list of holders longer than the lock, or anything but the fence of an unused one. */
function checkKeys(server: ScriptServer, steps: readonly string[]): void {
  const dump = server.keys.dump();
  const what = [...steps, JSON.stringify(dump)].join("\n");
  const ends = new Map(dump.map(([key, , expires]) => [key, expires]));
  const [lock, queue, waiters, holders, grants, fence] = KEYS;
  for (const [key, expires] of ends) assert(expires !== undefined, `${key} stays for ever\n${what}`);
  if (ends.has(holders)) assertEquals(ends.get(holders), ends.get(lock), what);
  if (ends.has(grants)) assertEquals(ends.get(grants), ends.get(holders), what);
  assertEquals(ends.has(queue), ends.has(waiters), what);
  if (!ends.has(lock) && !ends.has(queue)) assertEquals([...ends.keys()].filter((key) => key !== fence), [], what);
  const [value, list, records] = [lock, holders, grants].map((key) => dump.find(([name]) => name === key)?.[1]);
  const members = ((list ?? []) as readonly [string, string][]).map(([member]) => member);
  const known = ((records ?? []) as readonly [string, string][]).map(([handle]) => handle);
  assertEquals(known.filter((handle) => !members.includes(handle)), [], what);
  assertEquals(staleMarks(String(value), (list ?? []) as readonly [string, string][]), [], what);
}

/** Returns the marks of handles that are not in the list, and those of kinds where all have that of the lock. */
function staleMarks(value: string, list: readonly [member: string, score: string][]): string[] {
  const members = list.map(([member]) => member);
  return members.filter((member) => {
    const handle = /^::?(.*)$/.exec(member)?.[1];
    return handle !== undefined && (!members.includes(handle) || !member.startsWith("::") && !value.endsWith("/"));
  });
}

/** Makes a server in memory. `wake` is called with each handle whose turn it is. */
function serverOn(clock: VirtualClock, wake: (handle: string) => void): ScriptServer {
  return new ScriptServer(() => clock.now().wall * 1_000, (_channel, message) => {
    if (message.startsWith(TURN)) wake(message.slice(TURN.length));
    return 1;
  });
}

/** Makes a store whose scripts run on such a server. */
function storeOn(server: ScriptServer): QuorumNode {
  const sources = new Map(Object.values(scripts).map(({ sha, source }) => [sha, source]));
  const client = new FakeClient(({ script, keys, args }) => server.eval(sources.get(script)!, keys, args));
  const scan = () => Promise.resolve(["0", server.keys.dump().map(([key]) => key)]);
  return serverStore(Object.assign(client, { scan, status: "connecting" }).client);
}

/** The fences that one store has issued. They may differ from store to store, where a grant is repeated. */
class Fences {
  readonly #clock: VirtualClock;
  readonly #ofOwners = new Map<string, bigint>();
  #highest = 0n;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Checks the fence of a grant. An owner that holds the lock keeps its fence, or a single handle gets a later one. */
  note({ owner, handle }: Claim, fence: bigint, what: string): void {
    const present = this.#ofOwners.get(owner);
    if (present === undefined) assert(fence > this.#highest && fence >= this.#clock.now().wall * 1_000, what);
    else assert(fence === present || handle === undefined && fence > this.#highest, what);
    this.#ofOwners.set(owner, fence);
    if (fence > this.#highest) this.#highest = fence;
  }

  /** Forgets the owners that hold the lock no more. */
  keep(owners: readonly string[]): void {
    for (const owner of this.#ofOwners.keys()) if (!owners.includes(owner)) this.#ofOwners.delete(owner);
  }
}

/** Returns whether it was granted or the lock is busy, or the conflict. */
function outcomeOf(attempt: Attempt): unknown {
  if (attempt.granted) return "granted";
  return "conflict" in attempt ? attempt.conflict : "busy";
}

function entryText({ handle, owner, mode, permits, meta }: Entry): string {
  return [handle, owner, mode, permits, JSON.stringify(meta)].join();
}

function shown(claim: Claim): string {
  return `${handleOf(claim).replace(/[0-9a-f]{4}-.*/, "")} ${claim.permits ?? claim.mode} ${claim.lease}`;
}
