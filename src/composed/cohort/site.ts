import type { Clock } from "../../internal/clock.ts";
import type { Store } from "../../store.ts";
import type { CohortSettings } from "./options.ts";
import type { ProcessIds } from "./process_ids.ts";

/** Where the handles of a cohort that want one lock are at work. */
export interface Site {
  /** Where the locks are kept. */
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: CohortSettings;
  /** The ids under which the process asks the store. */
  readonly ids: ProcessIds;
  /** Takes note of something that goes on, and must not reject. Disposing of the cohort waits for it. */
  track(request: Promise<unknown>): void;
  /** Has the state of the name forgotten soon, if nobody uses it any more. */
  tidy(): void;
}
