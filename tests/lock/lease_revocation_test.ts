import { assert, assertEquals } from "@std/assert";
import { Lease } from "../../src/lock/lease.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import type { Claim } from "../../src/contract/store.ts";
import { ScriptedStore } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

/** A lease whose holder listens, and how its store says that the lock was taken away. */
function scene() {
  const clock = new VirtualClock();
  let evict = () => {};
  const store = Object.assign(new ScriptedStore(clock), {
    revocation: (_: unknown, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        evict = resolve;
        signal.addEventListener("abort", () => resolve());
      }),
  });
  const claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: 9_000 } as const;
  const lease = new Lease(store, claim, checkAcquireOptions({ lease: 9_000 }), clock.now(), clock);
  assert(lease.begin(1n), "the lease begins");
  return { store, lease, signal: lease.signal, evict: () => evict() };
}

Deno.test("Lease is lost when its store says that the lock was revoked", async () => {
  const { store, lease, signal, evict } = scene();
  evict();
  await settled();
  assertEquals([lease.held, signal.aborted, store.eventTypes], [false, true, ["lost"]]);
  const [event] = store.events;
  assert(event?.type === "lost" && event.reason === "revoked" && event.fence === 1n, JSON.stringify(event?.type));
});

Deno.test("Lease that was released is not lost when its revocation watch ends", async () => {
  const { store, lease, signal } = scene();
  lease.end();
  await settled();
  assertEquals([lease.held, lease.lostAt(), signal.aborted, store.eventTypes], [false, undefined, false, []]);
});

Deno.test("Lease that has ended does not ask to be notified of a revocation", () => {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const store = Object.assign(new ScriptedStore(clock), {
    revocation: ({ owner }: Claim) => {
      asked.push(owner);
      return new Promise<void>(() => {});
    },
  });
  const claim: Claim = { name: "a", owner: "me", mode: "exclusive", lease: 9_000 };
  const lease = new Lease(store, claim, checkAcquireOptions({ lease: 9_000 }), clock.now(), clock);
  assert(lease.begin(1n));
  lease.end();
  assertEquals([lease.signal.aborted, asked], [false, []]);
});
