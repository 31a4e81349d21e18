// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { LockTimeoutError } from "../../../src/contract/errors.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import { NAME, Place } from "../../engine/controlled_backend.ts";
import type { Grant } from "../../verification/history/history.ts";
import { type Deaths, type Refusal, unsucceeded } from "./dead_holders.ts";
import { FaultTimes, type Span } from "./fault_times.ts";

/** A holder with fence 1 died at 10,000. Its lock must be granted 3,500 ms after the first call, at the latest. */
const LEASE = 1_000;
const DEAD = [{ lock: "a", fence: 1n, at: 10_000 }];
const SUCCESSION = { leases: 1.5, ms: 2_000 };

function grant(fence: bigint, start: number, end: number): Grant {
  return { lock: "a", owner: `${fence}`, fence, start, end, believed: end, acted: end };
}

function found(parts: Partial<Deaths>, faults: readonly Span[] = []): string[] {
  const nothing = { grants: [], refusals: [], kills: [], storesOf: () => 1, faultTimes: new FaultTimes(faults, 0) };
  return unsucceeded({ dead: DEAD, lease: LEASE, succession: SUCCESSION, ...nothing, ...parts }).map(({ what }) =>
    what
  );
}

const refused = (start: number, end: number) => ({ lock: "a", start, end });
const late = (ms: number) => [`lock a of a dead holder was granted to nobody for ${ms} ms`];

Deno.test("unsucceeded() finds a lock that stays refused to callers with short waits", () => {
  const calls = [9_900, 10_900, 11_900, 12_900, 13_900].map((start) => refused(start, start + 900));
  assertEquals(found({ refusals: calls }), late(3_800));
  assertEquals(found({ refusals: calls.slice(0, 3) }), [], "not yet");
  assertEquals(found({ refusals: calls, grants: [grant(2n, 13_000, 13_100)] }), []);
  assertEquals(found({ refusals: calls, grants: [grant(2n, 14_900, 15_000)] }), late(3_800), "too late");
  assertEquals(found({ refusals: calls, grants: [grant(1n, 9_000, 9_001)] }), late(3_800), "not a later grant");
});

Deno.test("unsucceeded() finds a waiter that is granted the lock too late", () => {
  assertEquals(found({ grants: [grant(2n, 9_000, 13_400)] }), []);
  assertEquals(found({ grants: [grant(2n, 9_000, 13_600)] }), late(3_600));
});

Deno.test("unsucceeded() counts from the first call after the death, if somebody asks", () => {
  assertEquals(found({ grants: [grant(2n, 60_000, 60_001)] }), []);
  const refusals = [refused(20_000, 20_500)];
  assertEquals(found({ refusals, grants: [grant(2n, 22_000, 23_400)] }), []);
  assertEquals(found({ refusals, grants: [grant(2n, 22_000, 23_600)] }), late(3_600));
  assertEquals(found({ refusals, grants: [grant(2n, 30_000, 30_001)] }), [], "it came later");
});

Deno.test("unsucceeded() counts neither the time of faults nor the turns of dead waiters", () => {
  const grants = [grant(2n, 9_000, 15_000)];
  assertEquals(found({ grants }), late(5_000));
  assertEquals(found({ grants }, [{ start: 9_000, end: 11_600 }]), []);
  assertEquals(found({ grants, kills: [{ start: 9_990, end: 10_001 }] }), []);
  assertEquals(found({ grants, kills: [{ start: 9_990, end: 10_001 }], storesOf: () => 0 }), late(5_000));
  assertEquals(found({ grants, kills: [{ start: 8_000, end: 9_000 }] }), late(5_000), "a kill before");
});

Deno.test("unsucceeded() passes over who died under a wrong clock where clocks are compared", () => {
  const grants = [grant(2n, 9_000, 15_000)];
  const fault = [{ start: 9_500, end: 9_600 }];
  assertEquals(found({ grants }, fault).length, 1);
  assertEquals(found({ grants, succession: { ...SUCCESSION, byClocks: true } }, fault), []);
  assertEquals(found({ grants, succession: { ...SUCCESSION, byClocks: true } }).length, 1);
});

Deno.test("unsucceeded() finds that no document names a timer of the server", async () => {
  for (const isNamed of [true, false]) {
    const place = new Place({ timers: true });
    const now = () => place.clock.now().monotonic;
    const [grants, refusals]: [Grant[], Refusal[]] = [[], []];
    /** A call of a process that has just begun. */
    const visit = async (wait: number) => {
      const { store, timers } = place.connect();
      if (!isNamed) timers.onStart = () => Promise.reject(new Error("no timer"));
      const start = now();
      const options = checkAcquireOptions({ wait, lease: LEASE, renew: false });
      const call = acquireFrom(store, NAME, options, place.clock).catch((error) => {
        assert(error instanceof LockTimeoutError, `${error}`);
      });
      await place.clock.advance(wait + 100);
      const lock = await call;
      if (lock) grants.push({ ...grant(lock.fence, start, now()), lock: NAME });
      else refusals.push({ lock: NAME, start, end: now() });
      return lock;
    };
    const { fence } = (await visit(0))!;
    const dead = [{ lock: NAME, fence, at: now() }];
    while (grants.length === 1 && now() < dead[0]!.at + 10_000) await visit(LEASE / 2);
    const late = found({ dead, grants, refusals });
    assertEquals([grants.length, late.length], isNamed ? [2, 0] : [1, 1], `${late}`);
  }
});
