import { HandoffCohort } from "../../src/composed/cohort/cohort.ts";
import { type Attempt, type AttemptOptions, type Claim, handleOf, type Renewal } from "../../src/store.ts";
import { Beneath } from "./beneath.ts";
import { ScaledClock } from "./flaws.ts";
import { currentHandle, type Handle } from "./handles.ts";
import type { MakeCohort } from "./simulate.ts";

/** Cohorts with a flaw, each of which breaks a promise: the simulator must notice every one. */
export const cohortFlaws: Readonly<Record<string, MakeCohort>> = {
  "a cohort whose clock stands still": (store, settings, clock) => {
    return new HandoffCohort(store, new ScaledClock(clock, 0), settings);
  },
  "a cohort that hands on a lock that it has lost": (store, settings, clock) => {
    return new HandoffCohort(new ObstinateStore(store), clock, settings);
  },
  "a cohort that gives nothing back": (store, settings, clock) => {
    return new HandoffCohort(new KeepingStore(store), clock, settings);
  },
  "a cohort that takes more fences than it has": (store, settings, clock) => {
    return new HandoffCohort(new LavishStore(store), clock, settings);
  },
  "a cohort whose handles have one fence": (store, settings, clock) => new CohortWithOneFence(store, clock, settings),
  "a cohort that hands on before the release": (store, settings, clock) => new HastyCohort(store, clock, settings),
};

class ObstinateStore extends Beneath {
  readonly #asking = new Map<string, Handle | undefined>();

  override attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    this.#asking.set(handleOf(claim), currentHandle());
    return super.attempt(claim, options);
  }

  override async renew(claim: Claim): Promise<Renewal> {
    // The handle that was granted the lock hears of its loss, and no other.
    const hears = this.#asking.get(handleOf(claim)) === currentHandle();
    const renewal = await super.renew(claim);
    return hears ? renewal : "renewed";
  }
}

class KeepingStore extends Beneath {
  override release(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

class LavishStore extends Beneath {
  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    return attempt.granted && claim.fences !== undefined ? { ...attempt, fences: 1_000_000 } : attempt;
  }
}

class CohortWithOneFence extends HandoffCohort {
  #fence: bigint | undefined;

  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    if (!attempt.granted) return attempt;
    this.#fence ??= attempt.fence;
    return { ...attempt, fence: this.#fence };
  }
}

class HastyCohort extends HandoffCohort {
  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    if (attempt.granted) void super.release(claim).catch(() => {});
    return attempt;
  }
}
