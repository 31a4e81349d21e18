import { assertEquals } from "@std/assert";
import { claimOf, grant, LONG } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";

/** A lock that its holder watches, and what its backend does at first. */
async function watched({ watches, faults }: { readonly watches: boolean; readonly faults: number }) {
  const place = new Place({ watches });
  const [a, b] = [place.connect(), place.connect()];
  const held = claimOf(NAME, "exclusive", 10 * LONG);
  await grant(a.store, held);
  const scope = new AbortController();
  let told: number | undefined;
  const revoked = a.store.revocation(held, scope.signal).then(() => told ??= place.clock.now().monotonic);
  await place.clock.advance(0);
  // Only a write decides that the lock is lost.
  let left = faults;
  a.backend.onWrite = (execute) => left-- > 0 ? Promise.reject(new Error("cut off")) : execute();
  const from = place.clock.now().monotonic;
  await b.store.evict(NAME);
  for (let i = 0; told === undefined && i < 400; i++) await place.clock.advance(100);
  const ms = told === undefined ? undefined : told - from;
  scope.abort();
  await revoked;
  return ms;
}

Deno.test("revocation() hears of a loss at once where the backend watches", async () => {
  assertEquals(await watched({ watches: true, faults: 0 }), 0);
});

Deno.test("revocation() hears of a loss although looks fail, with the next that does not", async () => {
  for (const faults of [1, 2, 3]) {
    for (const watches of [false, true]) {
      const ms = await watched({ watches, faults });
      // Every 5 s where the backend watches, every second elsewhere. One look is left out after a write that failed.
      const most = (watches ? 5_000 : 1_000) * (2 * faults + 1);
      assertEquals(ms !== undefined && ms <= most, true, `${faults} faults, watches: ${watches}: ${ms} ms`);
    }
  }
});

Deno.test("revocation() of a holder whose document is as before asks nothing", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const held = claimOf(NAME, "exclusive", 10 * LONG);
  await grant(store, held);
  backend.trips();
  const scope = new AbortController();
  const revoked = store.revocation(held, scope.signal);
  await place.clock.advance(60_000);
  const { reads, writes } = backend.trips();
  assertEquals([reads <= 12, writes], [true, 0]);
  scope.abort();
  assertEquals(await revoked, undefined);
  assertEquals(place.clock.pending, 0);
});
