import { assert, assertEquals } from "@std/assert";
import { elapsed } from "../../src/time/clock.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { NAME, Place } from "./controlled_backend.ts";

// What docs/stores/cas.md warns of does happen, and the fence orders it.

Deno.test("attempt() with a clock that is wrong by more than maxClockSkew ends a live lease", async () => {
  const place = new Place();
  const clock = new VirtualClock();
  const [holder, other] = [place.connect(), place.connect({ clock })];
  const held = claimOf(NAME, "exclusive", 30_000);
  const fence = await grant(holder.store, held);
  clock.setWall(39_900);
  await ask(other.store, claimOf(NAME), false);
  clock.setWall(200);
  const later = await grant(other.store, claimOf(NAME));
  assert(later > fence, `${later} > ${fence}`);
  // The holder has all of its lease left, as it believes.
  assertEquals(await holder.store.renew(held), "lost");
});

Deno.test("attempt() ends the lease of a machine that slept while its clock was set back", async () => {
  const place = new Place();
  const clock = new VirtualClock();
  const [holder, other] = [place.connect({ clock }), place.connect()];
  const [held, waiting] = [claimOf(NAME, "exclusive", 30_000), claimOf(NAME)];
  const grantedAt = clock.now();
  const fence = await grant(holder.store, held);
  await ask(other.store, waiting);
  // The machine of the holder sleeps, and its wall clock is set back by as much: neither clock shows it.
  await place.clock.advance(30_001);
  const later = await grant(other.store, waiting);
  assert(later > fence, `${later} > ${fence}`);
  assertEquals(elapsed(grantedAt, clock.now()), 0);
  assertEquals(await holder.store.renew(held), "lost");
});

Deno.test("maxClockSkew of Infinity leaves a live lease to a holder whose clock is wrong", async () => {
  const place = new Place();
  const clock = new VirtualClock();
  clock.setWall(7 * 24 * 3_600_000);
  const [holder, other] = [place.connect(), place.connect({ clock, maxClockSkew: Infinity })];
  const held = claimOf(NAME, "exclusive", 30_000);
  await grant(holder.store, held);
  await ask(other.store, claimOf(NAME), false);
  assertEquals(await holder.store.renew(held), "renewed");
});
