import type { Clock } from "../../../src/time/clock.ts";
import type { Backend } from "../../../src/engine/mod.ts";
import type { CasSettings } from "../../../src/engine/options.ts";
import { CasStore } from "../../../src/engine/store.ts";
import type { Attempt, AttemptOptions, Claim } from "../../../src/contract/store.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Engine } from "./engine.ts";
import type { Waiting } from "./waiting.ts";

/** What surrounds the store of a process. */
export interface Surroundings {
  readonly waiting: Waiting;
  /** Where its handles are. */
  readonly client: Machine;
  readonly backend: Backend;
  readonly settings: CasSettings;
  readonly clock: Clock;
  readonly luck: () => number;
  readonly engine: Engine | undefined;
}

/** Makes the store of a process, whose calls are noted: who waits, who sleeps, and who is woken. */
export function observedStore(
  { waiting, client, backend, settings, clock, luck, engine = CasStore }: Surroundings,
): CasStore {
  class ObservedStore extends engine {
    override attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
      return waiting.attempt(claim, client, options, () => super.attempt(claim, options));
    }

    override release(claim: Claim): Promise<boolean> {
      waiting.leaves(claim);
      return super.release(claim);
    }

    override succeed(from: Claim, to: Claim): Promise<void> {
      waiting.succeeds(from, to);
      return super.succeed(from, to);
    }

    override forget(claim: Claim): void {
      waiting.leaves(claim);
      super.forget(claim);
    }

    override async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
      waiting.sleeps(claim);
      await super.wakeup(claim, signal);
      waiting.wakes(claim);
    }
  }
  return new ObservedStore(backend, settings, clock, luck);
}
