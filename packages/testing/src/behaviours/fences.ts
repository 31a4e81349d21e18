import type { Behaviours } from "../fixture.ts";
import type { Granted } from "@holdfast/lock";
import { elapsed } from "../clock.ts";
import { QUEUE, TRY } from "../claims.ts";
import {
  check,
  checkInTime,
  claimOf,
  clock,
  grantOf,
  judge,
  LONG_MS,
  SHORT_MS,
  slowestOf,
  type Span,
  timed,
  until,
} from "../expect.ts";

/** How far the end of a block may be ahead of the store's clock, in microseconds. */
const AHEAD_US = 10_000;

/** The behaviours of a store that grants several fences at once. */
export const fences: Behaviours = {
  async "attempt() reserves several fences, and no other grant gets one of them"(fixture) {
    let stores = [await fixture.connect(), await fixture.connect()];
    let last = 0n;
    for (const [turn, wish] of [1, 5, undefined, 40, 2, undefined, 1_000, undefined, 3, 7].entries()) {
      const store = stores[turn % 2]!;
      const claim = { ...claimOf("block", LONG_MS), fences: wish };
      const grant = grantOf(await store.attempt(claim, TRY));
      check(grant.fence > last, `${grant.fence} after ${last}`);
      last = endOf(grant, wish);
      check(await store.release(claim), "released");
      if (turn !== 6 || fixture.restart === undefined) continue;
      await fixture.restart();
      stores = [await fixture.connect(), await fixture.connect()];
    }
  },

  async "attempt() reserves fences for a waiter, above those of a dead holder"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [holder, waiter] = [{ ...claimOf(name, SHORT_MS), fences: 9 }, { ...claimOf(name, LONG_MS), fences: 9 }];
      const began = clock.now();
      const first = grantOf(await a.attempt(holder, TRY));
      try {
        checkInTime(!(await b.attempt(waiter, QUEUE)).granted, "it is held", began, SHORT_MS);
        let second: Granted | undefined;
        await until("the waiter is served", async () => {
          const attempt = await b.attempt(waiter, QUEUE);
          if (attempt.granted) second = attempt;
          return attempt.granted;
        });
        check(second!.fence > endOf(first, 9), "above the block of the dead one");
        endOf(second!, 9);
        check(await b.release(waiter), "released");
      } finally {
        await b.release(waiter);
      }
    });
  },

  async "attempt() reserves no fence over 10 ms ahead of the clock, but always one"(fixture) {
    const store = await fixture.connect();
    const began = clock.now();
    // No earlier than the store's clock was at that time: its fences are microseconds of it, or later.
    let bound: bigint | undefined;
    const calls: Span[] = [];
    for (let i = 0; i < 5; i++) {
      const wish = i === 0 ? 1 : 1_000_000_000;
      const claim = { ...claimOf("ahead", LONG_MS), fences: wish };
      const attempt = await timed(() => store.attempt(claim, TRY));
      calls.push(attempt);
      const grant = grantOf(attempt.answer);
      const end = endOf(grant, wish);
      bound ??= grant.fence;
      // The two clocks may run at slightly different speeds.
      const passed = BigInt(Math.ceil((elapsed(began, clock.now()) * 1.01 + 1 + slowestOf(calls)) * 1_000));
      const inBounds = end <= bound + passed + BigInt(AHEAD_US);
      check(inBounds || (grant.fences ?? 1) === 1, `${grant.fences} fences from ${grant.fence}, ${bound} at first`);
      const release = await timed(() => store.release(claim));
      calls.push(release);
      check(release.answer, "released");
    }
  },

  async "attempt() again of a handle reserves no fence that others could have"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [claim, next] = [{ ...claimOf("twice", LONG_MS), fences: 6 }, claimOf("twice", LONG_MS)];
    const first = grantOf(await a.attempt(claim, TRY));
    const again = grantOf(await a.attempt(claim, TRY));
    const [end, last] = [endOf(first, 6), endOf(again, 6)];
    check(again.fence > end || again.fence === first.fence && last <= end, "others, or the same");
    check(await a.release(claim), "released");
    check(grantOf(await b.attempt(next, TRY)).fence > (last > end ? last : end), "above both");
    check(await b.release(next), "released");
  },
};

/** The behaviours of a store that grants several fences at once, and supports steal. */
export const stolenFences: Behaviours = {
  async "attempt() with steal is granted fences above those of the holder"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [holder, thief, next] = [3, 4, undefined].map((fences) => ({ ...claimOf("stolen", LONG_MS), fences }));
    const end = endOf(grantOf(await a.attempt(holder!, TRY)), 3);
    const stolen = grantOf(await b.attempt(thief!, { ...TRY, steal: true }));
    check(stolen.fence > end, "above the holder's");
    check(await b.release(thief!), "released");
    check(grantOf(await a.attempt(next!, TRY)).fence > endOf(stolen, 4), "above the thief's");
    check(await a.release(next!), "released");
  },
};

/** Checks how many fences a grant has, and returns the last fence. */
function endOf({ fence, fences = 1 }: Granted, wish = 1): bigint {
  check(Number.isInteger(fences) && fences >= 1 && fences <= wish, `1 to ${wish} fences: ${fences}`);
  return fence + BigInt(fences - 1);
}
