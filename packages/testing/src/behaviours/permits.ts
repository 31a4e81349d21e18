import type { Capability, Claim } from "@holdfast/lock";
import { conflict, enqueueInOrder, owned, permit, QUEUE, share, TRY } from "../claims.ts";
import { busy, check, claimOf, granted, LONG_MS, SHORT_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** A kind of handle, the capability it needs, and what it finds beside a holder of each kind, in this order. */
const KINDS: readonly (readonly [claim: (name: string) => Claim, needs: Capability, found: string])[] = [
  [(name) => claimOf(name, LONG_MS), "permits", "busy     busy     conflict conflict busy"],
  [(name) => share(name), "shared", "busy     granted  conflict conflict busy"],
  [(name) => permit(name, 2), "permits", "conflict conflict granted  conflict conflict"],
  [(name) => permit(name, 3), "permits", "conflict conflict conflict granted  conflict"],
  [(name) => owned(name, "me"), "owner", "busy     busy     conflict conflict granted"],
];

/** The behaviours of a store that supports permits. */
export const permits: Behaviours = {
  async "attempt() grants as many as there are permits, and no more"(fixture) {
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

  async "acquire() of a permit is served in order, also when a holder has died"(fixture) {
    const a = await fixture.connect();
    granted(await a.attempt(permit("dies", 2, SHORT_MS), TRY));
    const other = permit("dies", 2);
    granted(await a.attempt(other, TRY));
    const [first, second] = await enqueueInOrder(fixture, "dies", [2, 2]);
    const lock = await first!;
    await a.release(other);
    const next = await second!;
    check(lock.fence < next.fence, "in order");
    await Promise.all([lock.release(), next.release()]);
  },

  async "attempt() beside each kind of holder is granted, busy or a conflict"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const isSupported = (needs: Capability) => a.capabilities?.includes(needs);
    for (const [asked, [make, needs, found]] of KINDS.entries()) {
      for (const [place, expected] of found.split(/ +/).entries()) {
        const [held, needed] = KINDS[place]!;
        if (!isSupported(needs) || !isSupported(needed)) continue;
        const name = `kind ${asked} beside ${place}`;
        const [holder, claim] = [held(name), make(name)];
        granted(await a.attempt(holder, TRY));
        const attempt = await b.attempt(claim, QUEUE);
        const outcome = attempt.granted ? "granted" : "conflict" in attempt ? "conflict" : "busy";
        check(outcome === expected, `${name} is ${expected}: ${outcome}`);
        const left = await b.release(claim);
        if (outcome === "conflict") {
          const { present, own } = conflict(attempt);
          check(present === (holder.permits ?? holder.mode) && !own, `it says as what it is held: ${present}`);
          check(!left, "it does not wait");
        }
        check(await a.renew(holder) === "renewed", "the holder has it still");
        await a.release(holder);
      }
    }
  },
};
