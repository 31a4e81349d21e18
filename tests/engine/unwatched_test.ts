import { assertEquals } from "@std/assert";
import { ask, claimOf, grant } from "../support/claims.ts";
import { warningsOf } from "../support/warnings.ts";
import type { ControlledBackend } from "./controlled_backend.ts";
import { NAME, Place } from "./controlled_backend.ts";

type Watch = NonNullable<ControlledBackend["watch"]>;

/** Resolves to the warnings of a process that waits for a while, whose requests may fail as well. */
async function warningsWith(watch: Watch, { fails = false } = {}): Promise<string[]> {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect({ watch })];
  const [held, waiting] = [claimOf(NAME), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const refused = () => Promise.reject(new Error("not there"));
  if (fails) Object.assign(waiter.backend, { onRead: refused, onWrite: refused });
  const scope = new AbortController();
  return await warningsOf(async () => {
    const woken = waiter.store.wakeup(waiting, scope.signal);
    await place.clock.advance(5_000);
    scope.abort();
    await woken;
    await place.clock.advance(0);
  });
}

const failing = () => Promise.reject(new Error("no watches here"));

Deno.test("Watcher does not warn of watches that fail with the store, or now and then", async () => {
  let watches = 0;
  assertEquals(await warningsWith(failing, { fails: true }), []);
  assertEquals(await warningsWith(() => ++watches % 10 > 0 ? failing() : Promise.resolve()), []);
});

Deno.test("Watcher warns once if watches fail while the store answers", async () => {
  const warning = "Waiters poll, since the store does not notify them: no watches here";
  assertEquals(await warningsWith(failing), [warning]);
  assertEquals(await warningsWith(failing), []);
});
