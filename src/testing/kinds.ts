import { check, claimOf, clock, freed, GRACE, granted, LONG, SHORT, until, waiting } from "./expect.ts";
import type { Lock } from "../lock.ts";
import type { Attempt, Capability, Claim, Conflict, Kind } from "../store.ts";
import type { StoreFixture } from "./fixture.ts";

type Behaviours = Record<string, (fixture: StoreFixture) => Promise<void>>;

const shared: Behaviours = {
  async "shared claims are granted together, and keep an exclusive one out until the last release"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, alone] = [share("files"), share("files"), claimOf("files", LONG)];
    const first = granted(await a.attempt(one, TRY));
    const second = granted(await b.attempt(two, TRY));
    check(second !== first, "each has a fence of its own");
    busy(await b.attempt(alone, TRY));
    check(await a.release(one), "the first releases");
    check(!await a.release(one), "once");
    busy(await b.attempt(alone, TRY));
    check(await b.renew(two) === "renewed", "the second still holds it");
    check(await b.release(two), "and releases");
    check(granted(await b.attempt(alone, TRY)) > second, "the fence rises");
    busy(await a.attempt(share("files"), TRY));
    await b.release(alone);
  },

  async "a shared claim does not overtake a waiting exclusive one, and those behind it are granted together"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const holder = share("queue");
    granted(await a.attempt(holder, TRY));
    const [writer, ...readers] = await inOrder(fixture, "queue", ["exclusive", "shared", "shared", "exclusive"]);
    busy(await b.attempt(share("queue"), TRY));
    await a.release(holder);
    const first = await writer!;
    await first.release();
    const [second, third] = [await readers[0]!, await readers[1]!];
    check(second.held && third.held, "both hold it");
    check(first.fence < second.fence && first.fence < third.fence, "after the writer");
    await Promise.all([second.release(), third.release()]);
    const last = await readers[2]!;
    check(last.fence > second.fence && last.fence > third.fence, "the second writer came last");
    await last.release();
  },

  async "a shared claim is granted when the exclusive waiter ahead of it gives up"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [holder, writer] = [share("left"), claimOf("left", LONG)];
    granted(await a.attempt(holder, TRY));
    busy(await b.attempt(writer, { enqueue: true }));
    const [reader] = await inOrder(fixture, "left", ["shared"]);
    check(await b.release(writer), "the writer leaves the queue");
    await (await reader!).release();
    await a.release(holder);
  },

  async "each shared hold ends with its own lease, and the last one frees the lock"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [short, long] = [share("ends", SHORT), share("ends", 4 * SHORT)];
    granted(await a.attempt(long, TRY));
    granted(await a.attempt(short, TRY));
    await clock.sleep(SHORT + 50);
    check(await a.renew(short) === "lost", "the short one is over");
    check(!await a.release(short), "and there is nothing to release");
    busy(await b.attempt(claimOf("ends", LONG), TRY));
    await freed(b, "ends");
    check(await a.renew(long) === "lost", "the long one is over as well");
  },
};

const permits: Behaviours = {
  async "permits: as many as there are permits, and no more"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, three] = [permit("pool", 2), permit("pool", 2), permit("pool", 2)];
    const fences = [granted(await a.attempt(one, TRY)), granted(await b.attempt(two, TRY))];
    granted(await b.attempt(two, TRY));
    busy(await a.attempt(three, TRY));
    check(await a.release(one), "one is given back");
    fences.push(granted(await a.attempt(three, TRY)));
    check(new Set(fences).size === 3, "each has a fence of its own");
    busy(await b.attempt(permit("pool", 2), TRY));
    await b.release(two);
    await a.release(three);
  },

  async "permits: waiters are served in order, also when a holder has died"(fixture) {
    const a = await fixture.connect();
    granted(await a.attempt(permit("dies", 2, SHORT), TRY));
    const other = permit("dies", 2);
    granted(await a.attempt(other, TRY));
    const [first, second] = await inOrder(fixture, "dies", [2, 2]);
    const lock = await first!;
    await a.release(other);
    const next = await second!;
    check(lock.fence < next.fence, "in order");
    await Promise.all([lock.release(), next.release()]);
  },

  async "permits: another number of them is a conflict, and leaves nothing"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const holder = permit("number", 3);
    granted(await a.attempt(holder, TRY));
    for (const claim of [permit("number", 2), claimOf("number", LONG)]) {
      const { present, own } = conflict(await b.attempt(claim, { enqueue: true }));
      check(present === 3 && !own, `it is held with 3 permits: ${present}`);
      check(!await b.release(claim), "it does not wait");
    }
    await a.release(holder);
    const alone = claimOf("number", LONG);
    granted(await a.attempt(alone, TRY));
    check(conflict(await b.attempt(permit("number", 3), TRY)).present === "exclusive", "now it has none");
    await a.release(alone);
  },
};

const owner: Behaviours = {
  async "owner: another hold of the holder is granted with the same fence, and the last release frees it"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two] = [held("job", "me"), held("job", "me")];
    const fence = granted(await a.attempt(one, TRY));
    check(granted(await b.attempt(two, TRY)) === fence, "the same fence");
    check(granted(await b.attempt(two, TRY)) === fence, "also when it asks again");
    busy(await b.attempt(held("job", "you"), TRY));
    check(await b.release(two), "one hold is given up");
    check(!await b.release(two), "once");
    busy(await b.attempt(claimOf("job", LONG), TRY));
    check(await a.renew(one) === "renewed", "the other one is left");
    check(await a.release(one), "the last one frees it");
    const next = claimOf("job", LONG);
    check(granted(await b.attempt(next, TRY)) > fence, "the fence rises");
    await b.release(next);
  },

  async "owner: another hold does not make the lease shorter, and ends with its own"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [long, short] = [held("long", "me"), held("long", "me", SHORT)];
    granted(await a.attempt(long, TRY));
    granted(await a.attempt(short, TRY));
    await clock.sleep(SHORT + 50);
    busy(await b.attempt(claimOf("long", LONG), TRY));
    check(await a.renew(short) === "lost", "the short hold is over");
    check(await a.release(long), "the long one is held");
    await freed(b, "long");
  },

  async "owner: a holder does not wait behind the queue for another hold"(fixture) {
    const a = await fixture.connect();
    const one = held("past", "me");
    granted(await a.attempt(one, TRY));
    const [waiter] = await inOrder(fixture, "past", ["exclusive"]);
    const two = held("past", "me");
    granted(await a.attempt(two, TRY));
    await a.release(one);
    await a.release(two);
    await (await waiter!).release();
  },

  async "owner: two handles that wait both get the lock when it is their owner's turn"(fixture) {
    const a = await fixture.connect();
    const holder = claimOf("both", LONG);
    granted(await a.attempt(holder, TRY));
    const locks = await inOrder(fixture, "both", ["exclusive", "exclusive"], "me");
    await a.release(holder);
    const [one, two] = await Promise.all(locks);
    check(one!.fence === two!.fence, "they hold it together");
    await Promise.all([one!.release(), two!.release()]);
  },
};

const sharedOwner: Behaviours = {
  async "owner: a handle without one is not entered again by its id"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    for (const mode of ["exclusive", "shared"] as const) {
      const holder = { ...claimOf("alone", LONG), mode };
      const named = { ...held("alone", holder.owner), mode };
      const fence = granted(await a.attempt(holder, TRY));
      if (mode === "shared") check(granted(await b.attempt(named, TRY)) > fence, "a fence of its own");
      else busy(await b.attempt(named, TRY));
      check(await b.release(named) === (mode === "shared"), "each is for itself");
      check(await a.renew(holder) === "renewed", "it is still held");
      check(await a.release(holder), "it is released");
    }
  },

  async "owner: who shares a lock shares it again past the queue, but never waits for itself"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const asShared = (claim: Claim): Claim => ({ ...claim, mode: "shared" });
    const [one, two] = [asShared(held("mix", "me")), asShared(held("mix", "me"))];
    const fence = granted(await a.attempt(one, TRY));
    const other = share("mix");
    granted(await b.attempt(other, TRY));
    const { present, own } = conflict(await a.attempt(held("mix", "me"), { enqueue: true }));
    check(present === "shared" && own, "it would wait for itself");
    const [writer] = await inOrder(fixture, "mix", ["exclusive"]);
    check(granted(await a.attempt(two, TRY)) === fence, "its own fence");
    for (const claim of [one, other, two]) check(await a.release(claim), "released");
    await (await writer!).release();
    const alone = held("mix", "me");
    granted(await a.attempt(alone, TRY));
    granted(await a.attempt(two, TRY));
    await a.release(alone);
    busy(await b.attempt(share("mix"), TRY));
    await a.release(two);
  },
};

const steal: Behaviours = {
  async "steal: takes the lock from its holder, ahead of the queue"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [holder, thief] = [claimOf("steal", LONG), claimOf("steal", LONG)];
    const fence = granted(await a.attempt(holder, TRY));
    const [waiter] = await inOrder(fixture, "steal", ["exclusive"]);
    check(granted(await b.attempt(thief, { enqueue: false, steal: true })) > fence, "the fence rises");
    check(await a.renew(holder) === "lost", "the holder has lost it");
    check(!await a.release(holder), "and has nothing to release");
    check(await b.renew(thief) === "renewed", "the thief holds it");
    await b.release(thief);
    await (await waiter!).release();
  },

  async "steal: the holder hears of it, and of nothing else"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [holder, bystander, thief] = [claimOf("hears", LONG), claimOf("other", LONG), claimOf("hears", LONG)];
    granted(await a.attempt(holder, TRY));
    granted(await a.attempt(bystander, TRY));
    const over = new AbortController();
    let told = 0;
    const evictions = [holder, bystander].map((claim) => a.eviction?.(claim, over.signal).then(() => told++));
    granted(await b.attempt(thief, { enqueue: false, steal: true }));
    await until("the holder hears of it", () => Promise.resolve(told === 1));
    evictions.push(a.eviction?.(holder, over.signal).then(() => told++));
    await until("also when it listens too late", () => Promise.resolve(told === 2));
    over.abort("over");
    await Promise.all(evictions);
    await a.release(bystander);
    await b.release(thief);
  },

  async "evict() frees a lock for the next waiter"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    check(await b.evict?.("evict") === 0, "nobody holds it");
    const holder = claimOf("evict", LONG);
    granted(await a.attempt(holder, TRY));
    const [waiter] = await inOrder(fixture, "evict", ["exclusive"]);
    check(await b.evict?.("evict") === 1, "one holder");
    const lock = await waiter!;
    check(!await a.release(holder), "it has nothing to release");
    await lock.release();
  },

  async "query() lists who holds and who waits, in order"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, three] = [claimOf("a {b}*", LONG), claimOf("second", LONG), claimOf("a {b}*", LONG)];
    granted(await a.attempt(one, TRY));
    granted(await a.attempt(two, TRY));
    busy(await b.attempt(three, { enqueue: true }));
    const fourth = claimOf("a {b}*", LONG);
    busy(await a.attempt(fourth, { enqueue: true }));
    const { held, pending } = await b.query!();
    const short = ({ name, owner, mode }: { name: string; owner: string; mode: string }) => `${name}/${owner}/${mode}`;
    check(held.map(short).sort().join() === [one, two].map(short).sort().join(), "held");
    check(pending.map(short).join() === [three, fourth].map(short).join(), "pending");
    for (const claim of [fourth, three, two, one]) await a.release(claim);
    const after = await a.query!();
    check(after.held.length + after.pending.length === 0, "nothing is left to list");
  },
};

/** What a store must show if it supports an option. */
export const kinds: Record<Capability, Behaviours> = { shared, permits, owner: { ...owner, ...sharedOwner }, steal };

const TRY = { enqueue: false } as const;

function share(name: string, lease = LONG): Claim {
  return { ...claimOf(name, lease), mode: "shared" };
}

function permit(name: string, permits: number, lease = LONG): Claim {
  return { ...claimOf(name, lease), permits };
}

function held(name: string, owner: string, lease = LONG): Claim {
  return { ...claimOf(name, lease), owner, hold: `${owner}/${crypto.randomUUID()}` };
}

function busy(attempt: Attempt): void {
  check("retryAfter" in attempt, "the attempt finds the lock busy");
}

function conflict(attempt: Attempt): Conflict {
  check("conflict" in attempt, "the attempt finds a conflict");
  return attempt.conflict;
}

/** Waiters of these kinds, each in the queue before the next one asks. */
async function inOrder(fixture: StoreFixture, name: string, kinds: Kind[], owner?: string): Promise<Promise<Lock>[]> {
  const locks: Promise<Lock>[] = [];
  for (const kind of kinds) {
    const what = typeof kind === "number" ? { permits: kind } : { mode: kind };
    // Whoever is forgotten by a behaviour that fails comes to an end by itself.
    const options = { ...what, owner, lease: GRACE, renew: false, wait: GRACE };
    const { lock, queued } = waiting(await fixture.connect(), name, options);
    lock.catch(() => {});
    locks.push(lock);
    await Promise.race([queued, lock]);
  }
  return locks;
}
