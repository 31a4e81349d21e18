import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import { type Attempt, type AttemptOptions, type Claim, handleOf, type Renewal } from "../../../src/contract/store.ts";
import { PassingStore } from "../../support/passing_store.ts";
import { ScaledClock } from "./flaws.ts";
import { currentHandle, type Handle } from "./handles.ts";
import type { MakeHandoff } from "./simulate.ts";

/** What hands locks on with a flaw, each of which breaks a promise: the simulator must notice every one. */
export const handoffFlaws: Readonly<Record<string, MakeHandoff>> = {
  "locks handed on whatever their age": (store, clock, ...rest) =>
    new HandoffStore(store, new ScaledClock(clock, 0), ...rest),
  "locks handed on that were lost": (store, ...rest) => new HandoffStore(new ObstinateStore(store), ...rest),
  "handed-on locks that are not given back": (store, ...rest) => new HandoffStore(new KeepingStore(store), ...rest),
  "handles that have the fences of others": (store, ...rest) => new HandoffStore(new LavishStore(store), ...rest),
  "a lock that is handed on before its release": (...made) => new HastyHandoff(...made),
  "members that are forgotten": (store, ...rest) => new HandoffStore(new ForgetfulStore(store), ...rest),
};

class ObstinateStore extends PassingStore {
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

class KeepingStore extends PassingStore {
  override release(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

class LavishStore extends PassingStore {
  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    return attempt.granted ? { ...attempt, fences: 1_000_000 } : attempt;
  }
}

class ForgetfulStore extends PassingStore {
  readonly #members = new Set<string>();

  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    if (this.#members.has(handleOf(claim))) return { granted: false, retryAfter: 60_000 };
    const attempt = await super.attempt(claim, options);
    if (attempt.granted) { for (const member of attempt.run ?? []) this.#members.add(member); }
    return attempt;
  }
}

class HastyHandoff extends HandoffStore {
  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    if (attempt.granted) void super.release(claim).catch(() => {});
    return attempt;
  }
}
