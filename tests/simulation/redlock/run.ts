import type { Dealings } from "./dealings.ts";
import type { Disturbances } from "../kernel/disturbances.ts";
import type { Handles } from "./handles.ts";
import type { Invariants } from "../invariants.ts";
import type { Network } from "./network.ts";
import type { Scenario } from "./scenario.ts";
import type { Transitions } from "./transitions.ts";
import type { Watch } from "./watch.ts";
import type { World } from "../kernel/world.ts";

/** What all parts of one run share. */
export interface Run {
  readonly world: World;
  readonly scenario: Scenario;
  readonly network: Network;
  readonly disturbances: Disturbances;
  readonly handles: Handles;
  readonly dealings: Dealings;
  readonly invariants: Invariants;
  readonly watch: Watch;
  readonly transitions: Transitions;
}
