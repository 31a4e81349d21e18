import { conflict, enqueueInOrder, owned, permit, QUEUE, share, TRY } from "../claims.ts";
import { busy, check, checkInTime, claimOf, clock, freed, granted, judge, LONG_MS, SHORT_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";
import type { Claim } from "@holdfast/lock";

/** The behaviours of a store that supports owners. */
export const owners: Behaviours = {
  async "attempt() of an owner that holds the lock is granted with the same fence"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two] = [owned("job", "me"), owned("job", "me")];
    const fence = granted(await a.attempt(one, TRY));
    check(granted(await b.attempt(two, TRY)) === fence, "the same fence");
    check(granted(await b.attempt(two, TRY)) === fence, "also when it asks again");
    busy(await b.attempt(owned("job", "you"), TRY));
    check(await b.release(two), "one handle is released");
    check(!await b.release(two), "once");
    busy(await b.attempt(claimOf("job", LONG_MS), TRY));
    check(await a.renew(one) === "renewed", "the other one is left");
    check(await a.release(one), "the last one frees it");
    const next = claimOf("job", LONG_MS);
    check(granted(await b.attempt(next, TRY)) > fence, "the fence rises");
    await b.release(next);
  },

  async "attempt() of another handle does not make the lease shorter"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [long, short] = [owned("long", "me"), owned("long", "me", SHORT_MS)];
    granted(await a.attempt(long, TRY));
    granted(await a.attempt(short, TRY));
    await clock.sleep(SHORT_MS + 50);
    busy(await b.attempt(claimOf("long", LONG_MS), TRY));
    check(await a.renew(short) === "lost", "the lease of the short handle is over");
    check(await a.release(long), "the long one is held");
    await freed(b, "long");
  },

  async "attempt() of an owner that holds the lock does not wait behind the queue"(fixture) {
    const a = await fixture.connect();
    const one = owned("past", "me");
    granted(await a.attempt(one, TRY));
    const [waiter] = await enqueueInOrder(fixture, "past", ["exclusive"]);
    const two = owned("past", "me");
    granted(await a.attempt(two, TRY));
    await a.release(one);
    await a.release(two);
    await (await waiter!).release();
  },

  async "acquire() of two handles that wait grants both on their owner's turn"(fixture) {
    const a = await fixture.connect();
    const holder = claimOf("both", LONG_MS);
    granted(await a.attempt(holder, TRY));
    const locks = await enqueueInOrder(fixture, "both", ["exclusive", "exclusive"], "me");
    await a.release(holder);
    const [one, two] = await Promise.all(locks);
    check(one!.fence === two!.fence, "they hold it together");
    await Promise.all([one!.release(), two!.release()]);
  },

  async "attempt() without an owner: the handle is not entered again by its id"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    for (const mode of a.capabilities?.includes("shared") ? ["exclusive", "shared"] as const : ["exclusive"] as const) {
      const holder = { ...claimOf("alone", LONG_MS), mode };
      const named = { ...owned("alone", holder.owner), mode };
      const fence = granted(await a.attempt(holder, TRY));
      if (mode === "shared") check(granted(await b.attempt(named, TRY)) > fence, "a fence of its own");
      else busy(await b.attempt(named, TRY));
      check(await b.release(named) === (mode === "shared"), "each is for itself");
      check(await a.renew(holder) === "renewed", "it is still held");
      check(await a.release(holder), "it is released");
    }
  },
};

/** The behaviours of a store that supports owners and shared locks. */
export const sharedOwners: Behaviours = {
  async "attempt() of an owner that shares the lock never waits for itself"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const asShared = (claim: Claim): Claim => ({ ...claim, mode: "shared" });
    const [one, two] = [asShared(owned("mix", "me")), asShared(owned("mix", "me"))];
    const fence = granted(await a.attempt(one, TRY));
    const other = share("mix");
    granted(await b.attempt(other, TRY));
    const { present, own } = conflict(await a.attempt(owned("mix", "me"), QUEUE));
    check(present === "shared" && own, "it would wait for itself");
    const [writer] = await enqueueInOrder(fixture, "mix", ["exclusive"]);
    check(granted(await a.attempt(two, TRY)) === fence, "its own fence");
    for (const claim of [one, other, two]) check(await a.release(claim), "released");
    await (await writer!).release();
  },

  async "release() makes a lock shared once its owner has nothing but shared handles"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, reader] = [owned("down", "me"), owned("down", "me"), {
      ...owned("down", "me"),
      mode: "shared" as const,
    }];
    const fence = granted(await a.attempt(one, TRY));
    for (const claim of [reader, two]) check(granted(await a.attempt(claim, TRY)) === fence, "the same fence");
    busy(await b.attempt(share("down"), TRY));
    const waiting = await enqueueInOrder(fixture, "down", ["shared", "shared", "exclusive"]);
    check(await a.release(one), "one exclusive handle is released");
    check(await a.renew(reader) === "renewed", "the shared one is held");
    await b.attempt(share("down"), TRY).then(busy);
    check(await a.release(two), "and the other one");
    const [second, third] = [await waiting[0]!, await waiting[1]!];
    check(second.held && third.held && second.fence > fence && third.fence > fence, "the waiters share it");
    check(await a.renew(reader) === "renewed", "with the first");
    const { present, own } = conflict(await a.attempt(owned("down", "me"), QUEUE));
    check(present === "shared" && own, "its owner would wait for itself");
    const again = { ...owned("down", "me"), mode: "shared" as const };
    check(granted(await a.attempt(again, TRY)) === fence, "but it may share it again, with its fence");
    for (const lock of [second, third]) await lock.release();
    for (const claim of [reader, again]) check(await a.release(claim), "released");
    const last = await waiting[2]!;
    check(last.fence > third.fence, "then comes the writer");
    await last.release();
  },

  async "attempt() shares a lock once the leases of its exclusive handles have ended"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [brief, reader] = [owned(name, "me", SHORT_MS), { ...owned(name, "me"), mode: "shared" as const }];
      const other = share(name);
      const began = clock.now();
      granted(await a.attempt(brief, TRY));
      granted(await a.attempt(reader, TRY));
      try {
        checkInTime(!(await b.attempt(other, TRY)).granted, "it is exclusive", began, SHORT_MS);
        const [second] = await enqueueInOrder(fixture, name, ["shared"]);
        const lock = await second!;
        check(await a.renew(brief) === "lost" && await a.renew(reader) === "renewed", "the exclusive handle is over");
        await lock.release();
      } finally {
        await b.release(other);
        await a.release(reader);
      }
    });
  },
};

/** The behaviours of a store that supports owners, shared locks and permits. */
export const permitOwners: Behaviours = {
  async "release() leaves a lock that goes with all handles of its owner"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [alone, one, two] = [owned("left", "me"), { ...owned("left", "me"), permits: 2 }, permit("left", 2)];
    for (const claim of [alone, one]) granted(await a.attempt(claim, TRY));
    check(conflict(await b.attempt(two, TRY)).present === "exclusive", "it is exclusive");
    await a.release(alone);
    granted(await b.attempt(two, TRY));
    busy(await b.attempt(permit("left", 2), TRY));
    for (const claim of [one, two]) check(await b.release(claim), "released");
    const reader: Claim = { ...owned("left", "me"), mode: "shared" };
    for (const claim of [alone, one, reader]) granted(await a.attempt(claim, TRY));
    await a.release(alone);
    busy(await b.attempt(share("left"), TRY));
    await a.release(one);
    const other = share("left");
    granted(await b.attempt(other, TRY));
    for (const claim of [reader, other]) check(await b.release(claim), "released");
  },
};
