import { enqueueInOrder, QUEUE, share, TRY } from "../claims.ts";
import { busy, check, checkInTime, claimOf, clock, freed, granted, judge, LONG_MS, SHORT_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** The behaviours of a store that supports shared locks. */
export const shared: Behaviours = {
  async "attempt() grants shared claims together, and no other until the last release"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, alone] = [share("files"), share("files"), claimOf("files", LONG_MS)];
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

  async "attempt() of a shared claim does not overtake a waiting exclusive one"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const holder = share("queue");
    granted(await a.attempt(holder, TRY));
    const [writer, ...readers] = await enqueueInOrder(fixture, "queue", ["exclusive", "shared", "shared", "exclusive"]);
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

  async "acquire() gets a shared lock when the exclusive waiter ahead of it leaves"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [holder, writer] = [share(name), claimOf(name, LONG_MS)];
      granted(await a.attempt(holder, TRY));
      const seen = clock.now();
      busy(await b.attempt(writer, QUEUE));
      const [reader] = await enqueueInOrder(fixture, name, ["shared"]);
      try {
        checkInTime(await b.release(writer), "the writer leaves the queue", seen);
        await (await reader!).release();
      } finally {
        await a.release(holder);
        await reader!.then((lock) => lock.release()).catch(() => {}); // It may be released, or may not have it.
      }
    });
  },

  async "attempt() gives each shared handle its own lease, and the last frees the lock"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [short, long, other] = [share(name, SHORT_MS), share(name, 4 * SHORT_MS), claimOf(name, LONG_MS)];
      const began = clock.now();
      granted(await a.attempt(long, TRY));
      granted(await a.attempt(short, TRY));
      await clock.sleep(SHORT_MS + 50);
      check(await a.renew(short) === "lost", "the short one is over");
      check(!await a.release(short), "and there is nothing to release");
      const attempt = await b.attempt(other, TRY);
      if (attempt.granted) await b.release(other);
      checkInTime(!attempt.granted, "the long one still holds the lock", began, long.lease);
      busy(attempt);
      await freed(b, name);
      check(await a.renew(long) === "lost", "the long one is over as well");
    });
  },
};
