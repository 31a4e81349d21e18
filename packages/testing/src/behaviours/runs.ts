import type { Behaviours, StoreFixture } from "../fixture.ts";
import type { Claim, Granted, Store, WaiterEntry } from "@holdfast/lock";
import { handleOf } from "@holdfast/lock/authors";
import type { Instant } from "../clock.ts";
import { owned, QUEUE, share, TRY } from "../claims.ts";
import { busy, check, checkInTime, claimOf, clock, grantOf, judge } from "../expect.ts";
import { LONG_MS, SHORT_MS, until } from "../expect.ts";

/** The behaviours of a store that grants a lock to several waiters of one group together. */
export const runs: Behaviours = {
  async "attempt() takes the waiters of its group that come next along: a run"(fixture) {
    await play(fixture, async (scene) => {
      const members = scene.members(4);
      const rival = scene.add(claimOf(scene.name, LONG_MS));
      await scene.queue(scene.mine, ...members);
      await scene.queue(scene.others, rival);
      const grant = await scene.serve(scene.mine, members[0]!);
      scene.checkRun(grant, members.slice(1));
      scene.checkInTime(grant.contended !== false, "another one waits");
      check(await scene.mine.release(members[0]!), "released, once for all");
      const next = await scene.serve(scene.others, rival);
      check(next.fence > grant.fence + 3n, "its fence is above those of the run");
      check(next.contended !== true, "nobody waits");
    });
  },

  async "attempt() ends a run at a waiter of another group or kind, who is next"(fixture) {
    const { capabilities = [] } = await fixture.connect();
    for (const rival of rivals(capabilities)) {
      await play(fixture, async (scene) => {
        const [first, second, last] = scene.members(3) as [Claim, Claim, Claim];
        const between = scene.add(rival(scene.name));
        const { mine } = scene;
        await scene.queue(mine, first, second, between, last);
        const grant = await scene.serve(mine, first);
        scene.checkRun(grant, [second]);
        scene.checkInTime(grant.contended !== false, "others wait");
        check(await mine.release(first), "the run is over");
        scene.checkInTime(!(await mine.attempt(last, QUEUE)).granted, "it is the turn of the one between");
        check((await scene.serve(mine, between)).fence > grant.fence + 1n, "its fence is above those of the run");
        check(await mine.release(between), "released");
        scene.checkRun(await scene.serve(mine, last), []);
      });
    }
  },

  async "attempt() of a waiter without a group takes nobody along"(fixture) {
    await play(fixture, async (scene) => {
      const alone = scene.add(claimOf(scene.name, LONG_MS));
      const members = scene.members(2);
      await scene.queue(scene.mine, alone, ...members);
      const grant = await scene.serve(scene.mine, alone);
      scene.checkRun(grant, []);
      scene.checkInTime(grant.contended !== false, "others wait");
      check(await scene.mine.release(alone), "released");
      scene.checkRun(await scene.serve(scene.mine, members[0]!), members.slice(1));
    });
  },

  async "attempt() of a member of a run brings it back to its former place"(fixture) {
    await play(fixture, async (scene) => {
      const [first, second, third] = scene.members(3) as [Claim, Claim, Claim];
      const rival = scene.add(claimOf(scene.name, LONG_MS));
      const { mine, others } = scene;
      await scene.queue(mine, first, second, third);
      scene.checkRun(await scene.serve(mine, first), [second, third]);
      await scene.queue(others, rival);
      await scene.queue(mine, third, second);
      check(await mine.release(first), "the run ends early");
      for (const claim of [third, rival]) {
        scene.checkInTime(!(await mine.attempt(claim, QUEUE)).granted, "it is the turn of the second");
      }
      scene.checkRun(await scene.serve(mine, second), [third]);
      await scene.queue(mine, third);
      check(await mine.release(second), "released");
      scene.checkInTime(!(await others.attempt(rival, QUEUE)).granted, "the third came before");
      scene.checkRun(await scene.serve(mine, third), []);
    });
  },

  async "renew() and release() of a member of a run find nothing"(fixture) {
    await play(fixture, async (scene) => {
      const [first, second, third] = scene.members(3) as [Claim, Claim, Claim];
      const { mine, others, name } = scene;
      await scene.queue(mine, first, second, third);
      scene.checkRun(await scene.serve(mine, first), [second, third]);
      check(await mine.renew(second) === "lost", "a member has no lease");
      check(!await mine.release(second), "nor anything to release");
      const { held = [] } = await mine.query?.() ?? {};
      check(held.every(({ owner }) => owner === first.owner), "it is not listed as a holder");
      check(await mine.renew(first) === "renewed", "the lock is that of the first handle");
      const newcomer = scene.add(claimOf(name, LONG_MS));
      busy(await others.attempt(newcomer, TRY));
      check(await mine.release(first), "it releases the lock");
      await scene.serve(others, newcomer);
      check(!await mine.release(third), "no member is left");
    });
  },

  async "attempt() again of the first handle of a run takes nobody along twice"(fixture) {
    await play(fixture, async (scene) => {
      const [first, second] = scene.members(2) as [Claim, Claim];
      const rival = scene.add(claimOf(scene.name, LONG_MS));
      const { mine, others } = scene;
      await scene.queue(mine, first, second);
      const grant = await scene.serve(mine, first);
      scene.checkRun(grant, [second]);
      await scene.queue(others, rival);
      const again = grantOf(await mine.attempt(first, QUEUE));
      check((again.run ?? []).length === 0, "nobody is there to take along");
      check(again.fence >= grant.fence, "the fence does not fall");
      check(await mine.release(first), "released");
      const { fence } = await scene.serve(others, rival);
      check(fence > again.fence && fence > grant.fence + 1n, "above all fences of the run");
    });
  },

  async "attempt() gets the lock once the lease of a run has ended, above its fences"(fixture) {
    await play(fixture, async (scene) => {
      const [first, ...members] = scene.members(3, SHORT_MS);
      const newcomer = scene.add(claimOf(scene.name, LONG_MS));
      await scene.queue(scene.mine, first!, ...members);
      const grant = await scene.serve(scene.mine, first!);
      scene.checkRun(grant, members);
      const { fence } = await scene.serve(scene.others, newcomer);
      check(fence > grant.fence + 2n, "nobody has fences of a run that died");
    });
  },
};

/** More behaviours of a store that also lists its locks. */
export const listedRuns: Behaviours = {
  async "query() lists the members of a run in every client, before the queue"(fixture) {
    await play(fixture, async (scene) => {
      const [first, ...members] = scene.members(4).map((claim, i) =>
        scene.add({ ...claim, meta: `{"place":"${i}:"}` })
      );
      const rival = scene.add(claimOf(scene.name, LONG_MS));
      const { mine, others } = scene;
      await scene.queue(mine, first!, ...members);
      const queued = await scene.waiters();
      scene.checkRun(await scene.serve(mine, first!), members);
      await scene.checkWaiters(members, []);
      await scene.queue(others, rival);
      await scene.checkWaiters(members, [rival]);
      for (const { handle, meta, since } of (await scene.waiters()).slice(0, members.length)) {
        const before = queued.find((entry) => entry.handle === handle);
        check(meta?.["place"] === before?.meta?.["place"] && meta !== undefined, `its meta: ${JSON.stringify(meta)}`);
        check(since === before?.since, `it waits since ${before?.since}: ${since}`);
      }
      check(await mine.renew(first!) === "renewed", "renewed");
      await mine.attempt(first!, QUEUE);
      await scene.checkWaiters(members, [rival]);
    });
  },

  async "query() lists a member of a run once when it waits in the queue again"(fixture) {
    await play(fixture, async (scene) => {
      const [first, second, third] = scene.members(3) as [Claim, Claim, Claim];
      const { mine } = scene;
      await scene.queue(mine, first, second, third);
      scene.checkRun(await scene.serve(mine, first), [second, third]);
      await scene.queue(mine, third);
      await scene.checkWaiters([second], [third]);
      await scene.queue(mine, second);
      await scene.checkWaiters([], [second, third]);
      check(await mine.release(first), "released");
      scene.checkRun(await scene.serve(mine, second), [third]);
      await scene.checkWaiters([third], []);
    });
  },

  async "query() lists no member of a run that is over"(fixture) {
    const { capabilities = [] } = await fixture.connect();
    for (const [end, capability] of ENDS) {
      if (capability !== undefined && !capabilities.includes(capability)) continue;
      for (const waits of [true, false]) {
        await play(fixture, async (scene) => {
          const [first, ...members] = scene.members(3, end === "expire" ? SHORT_MS : LONG_MS);
          const next = scene.add(claimOf(scene.name, LONG_MS));
          const { mine, others } = scene;
          await scene.queue(mine, first!, ...members);
          if (waits) await scene.queue(others, next);
          scene.checkRun(await scene.serve(mine, first!), members);
          if (end === "release") check(await mine.release(first!), "released");
          else if (end === "evict") check(await others.evict!(scene.name) === 1, "evicted");
          else if (end === "steal") grantOf(await others.attempt(next, { enqueue: false, steal: true }));
          else await until("the lease ends", async () => (await others.query!({ name: scene.name })).held.length === 0);
          check((await scene.waiters()).every(({ member }) => !member), `no member is left: ${end}`);
          await scene.serve(others, next);
          // A late release.
          check(!await mine.release(first!), "nothing is left to release");
          await scene.checkWaiters([], []);
        });
      }
    }
  },
};

/** The ends of a run, each with the capabilities that it needs. */
const ENDS = [["release"], ["expire"], ["evict", "evict"], ["steal", "steal"]] as const;

/** Returns the claims that may stand between two members of a group. */
function rivals(capabilities: readonly string[]): ((name: string) => Claim)[] {
  const rivals = [
    (name: string) => claimOf(name, LONG_MS),
    (name: string) => ({ ...claimOf(name, LONG_MS), group: crypto.randomUUID() }),
  ];
  // Claims with an owner and shared claims belong to no group.
  if (capabilities.includes("owner")) rivals.push((name) => owned(name, "me"));
  if (capabilities.includes("shared")) rivals.push((name) => share(name));
  return rivals;
}

/** Plays a scenario with a queue, and again if the machine was too slow. Cleans up. */
function play(fixture: StoreFixture, scenario: (scene: Scene) => Promise<void>): Promise<void> {
  return judge(async (name) => {
    const scene = new Scene(name, await fixture.connect(), await fixture.connect());
    try {
      await scenario(scene);
    } finally {
      await scene.clear();
    }
  });
}

/** One lock, a client that has a group, and another client. */
class Scene {
  readonly name: string;
  /** The client of the group. */
  readonly mine: Store;
  readonly others: Store;
  readonly #group = crypto.randomUUID();
  readonly #claims: Claim[] = [];
  /** The holder while the queue grows. */
  #holder: Claim | undefined;
  /** When the first waiter of the queue asked. */
  #since: Instant = clock.now();

  constructor(name: string, mine: Store, others: Store) {
    this.name = name;
    this.mine = mine;
    this.others = others;
  }

  /** Makes claims of the group. */
  members(n: number, lease = LONG_MS): Claim[] {
    return Array.from({ length: n }, () => this.add({ ...claimOf(this.name, lease), group: this.#group }));
  }

  /** Records a claim for the release at the end. */
  add(claim: Claim): Claim {
    this.#claims.push(claim);
    return claim;
  }

  /** Puts claims into the queue, one after the other. */
  async queue(store: Store, ...claims: Claim[]): Promise<void> {
    if (this.#holder === undefined) {
      this.#holder = this.add(claimOf(this.name, LONG_MS));
      grantOf(await this.others.attempt(this.#holder, TRY));
      this.#since = clock.now();
    }
    for (const claim of claims) busy(await store.attempt(claim, QUEUE));
  }

  /** Attempts until the lock is granted to a claim. */
  async serve(store: Store, claim: Claim): Promise<Granted> {
    if (this.#holder !== undefined) await this.others.release(this.#holder);
    let grant: Granted | undefined;
    await until("the next one is served", async () => {
      const attempt = await store.attempt(claim, QUEUE);
      if (attempt.granted) grant = attempt;
      return attempt.granted;
    });
    return grant!;
  }

  /** Checks the members of a run. */
  checkRun({ fence, run = [] }: Granted, members: readonly Claim[]): void {
    const expected = members.map(handleOf);
    this.checkInTime(run.join() === expected.join(), `the run after ${fence} is ${expected}: ${run}`);
  }

  /** Returns the waiters, as another client lists them. */
  async waiters(): Promise<readonly WaiterEntry[]> {
    return (await this.others.query!({ name: this.name })).pending;
  }

  /** Checks the listed members of the holder's run, and the queue after them. */
  async checkWaiters(members: readonly Claim[], queue: readonly Claim[]): Promise<void> {
    const listed = (await this.waiters()).map(({ rank, handle, member = false }) => `${rank} ${handle} ${member}`);
    const expected = [...members, ...queue].map((claim, i) => `${i} ${handleOf(claim)} ${i < members.length}`);
    this.checkInTime(listed.join() === expected.join(), `those that wait are ${expected}: ${listed}`);
  }

  /** Checks a condition that holds as long as all waiters are alive. */
  checkInTime(condition: boolean, what: string): void {
    checkInTime(condition, what, this.#since);
  }

  /** Releases everything. */
  async clear(): Promise<void> {
    for (const store of [this.mine, this.others]) {
      for (const claim of this.#claims) await store.release(claim);
    }
  }
}
