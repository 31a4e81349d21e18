import { Handoff } from "../../src/internal/handoff/handoff.ts";
import { Beneath } from "./beneath.ts";
import { type Attempt, type AttemptOptions, type Claim, handleOf, type Renewal } from "../../src/store.ts";
import { ScaledClock } from "./flaws.ts";
import { currentHandle } from "./handles.ts";
import type { MakeRuns } from "./simulate.ts";

/** What hands a run on with a flaw, each of which breaks a promise: the simulator must notice every one. */
export const runFlaws: Readonly<Record<string, MakeRuns>> = {
  "a run handed on whatever its age": (store, clock) => new Handoff(store, new ScaledClock(clock, 0)),
  "a run handed on although its renewal was lost": (store, clock) => new Handoff(new ObstinateStore(store), clock),
  "a run whose members have the fence of the first": (store, clock) => new HandoffWithOneFence(store, clock),
  "a member whose place in the queue stays": (store, clock) => new Handoff(new LitteringStore(store), clock),
  "members that are forgotten when their run ends early": (store, clock) =>
    new Handoff(new ForgetfulStore(store), clock),
  "a run that is given back before all have had it": (store, clock) => new Handoff(new ShorteningStore(store), clock),
  "a run whose first member takes the lock at once": (store, clock) => new HastyHandoff(store, clock),
};

/** Returns whether the handle on whose behalf the present code runs waits for its turn in a run. */
function isHandingOn(): boolean {
  const asking = currentHandle();
  return asking?.head !== undefined && asking.grantedAt === undefined;
}

class ObstinateStore extends Beneath {
  override async renew(claim: Claim): Promise<Renewal> {
    const handingOn = isHandingOn();
    const renewal = await super.renew(claim);
    return handingOn ? "renewed" : renewal;
  }
}

class HandoffWithOneFence extends Handoff {
  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    const [first] = currentHandle()?.head?.fences.keys() ?? [];
    return attempt.granted && first !== undefined ? { ...attempt, fence: first } : attempt;
  }
}

class LitteringStore extends Beneath {
  /** The handle that was granted the lock last. */
  #held: string | undefined;

  override release(claim: Claim): Promise<boolean> {
    const waiting = currentHandle()?.head !== undefined && handleOf(claim) !== this.#held;
    return waiting ? Promise.resolve(true) : super.release(claim);
  }

  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    if (attempt.granted) this.#held = handleOf(claim);
    return attempt;
  }
}

class ForgetfulStore extends Beneath {
  readonly #members = new Set<string>();

  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    if (this.#members.has(handleOf(claim))) return { granted: false, retryAfter: 60_000 };
    const attempt = await super.attempt(claim, options);
    if (attempt.granted) { for (const member of attempt.run ?? []) this.#members.add(member); }
    return attempt;
  }
}

class ShorteningStore extends Beneath {
  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    return attempt.granted && attempt.run !== undefined ? { ...attempt, run: attempt.run.slice(0, -1) } : attempt;
  }
}

class HastyHandoff extends Handoff {
  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    if (attempt.granted && currentHandle()?.run?.members.length) void super.release(claim).catch(() => {});
    return attempt;
  }
}
