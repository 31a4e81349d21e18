import type { Claim, Store } from "@holdfast/lock";
import { handleOf } from "../src/contract/store.ts";
import { plain } from "./plain.ts";

/**
 * Returns a store that does the least that is needed to hand a lock on inside this process: each attempt tells the
 * server which handles belong together, and the process knows which of its handles wait. It never hands a lock on. What
 * runs and groups cost, where no two handles want the same name, cannot be less.
 */
export function least(store: Store): Store {
  const group = crypto.randomUUID();
  const waiting = new Map<string, Claim>();
  return Object.assign(plain(store), {
    attempt: async (...[claim, options]: Parameters<Store["attempt"]>) => {
      const handle = handleOf(claim);
      waiting.set(handle, claim);
      const attempt = await store.attempt({ ...claim, group }, options);
      if (attempt.granted) waiting.delete(handle);
      return attempt;
    },
  });
}
