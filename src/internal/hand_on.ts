import { Runs } from "./runs.ts";
import { clockOf, registerRuns } from "./store_state.ts";
import type { Store } from "../store.ts";

/**
 * Has the locks of a store that grants runs handed on inside this process. The stores of the package call it when they
 * are made, so that the core by itself loads nothing of it.
 */
export function handOn(store: Store): Store {
  return registerRuns(store, new Runs(store, clockOf(store)));
}
