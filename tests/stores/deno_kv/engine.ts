import { SystemClock } from "../../../src/time/clock.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { KvBackend } from "../../../src/stores/deno_kv/store.ts";
import { patient } from "../../support/patient.ts";

/** Opens a store that does not hand on, for tests that call it themselves. */
export function engineOn(kv: Deno.Kv): CasStore {
  const settings = { maxClockSkew: 10_000, observer: undefined };
  return patient(new CasStore(new KvBackend(kv, "holdfast"), settings, new SystemClock()));
}
