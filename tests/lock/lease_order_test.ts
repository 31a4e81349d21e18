import { assert, assertEquals } from "@std/assert";
import { Lease } from "../../src/lock/lease.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** A lease of 9 s that is renewed every 3 s, and the numbers of the renewals that its store has been asked for. */
function scene() {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: 9_000 } as const;
  const lease = new Lease(store, claim, checkAcquireOptions({ lease: 9_000 }), clock.now(), clock);
  assert(lease.begin(1n), "the lease begins");
  const numbers = () => {
    const renewals = store.calls.filter(({ operation }) => operation === "renew");
    return renewals.map(({ claim }) => claim.renewal);
  };
  return { clock, store, lease, numbers };
}

Deno.test("Lease does not number renewals as long as they are all of one length", async () => {
  const { clock, lease, numbers } = scene();
  await clock.advance(6_500);
  await lease.extend();
  await lease.extend(9_000);
  assertEquals(numbers(), [undefined, undefined, undefined, undefined]);
  lease.end();
});

Deno.test("Lease numbers its renewals from the first one of another length on", async () => {
  const { clock, lease, numbers } = scene();
  await clock.advance(3_500);
  await lease.extend(6_000);
  await clock.advance(4_500);
  await lease.extend(6_000);
  await lease.extend(9_000);
  assertEquals(numbers(), [undefined, 1, 2, 3, 4, 5]);
  lease.end();
});

Deno.test("Lease gives a renewal that is retried a number of its own", async () => {
  const { clock, store, lease, numbers } = scene();
  await lease.extend(6_000);
  store.onRenew = unreachable;
  await clock.advance(2_500);
  const tried = numbers();
  assert(tried.length >= 3, `${tried.length} tries`);
  assertEquals(tried, tried.map((_, i) => i + 1));
  lease.end();
});
