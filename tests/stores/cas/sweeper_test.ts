import { assertEquals } from "@std/assert";
import { claimOf, grant } from "../../support/claims.ts";
import { Place } from "./controlled_backend.ts";

const DAY = 24 * 3_600_000;

/** Uses names, waits, and returns which documents are there after a sweep. */
async function swept(place: Place, days: number): Promise<string[]> {
  const { store } = place.connect();
  place.clock.stall(days * DAY);
  await store.release(claimOf("z"));
  await place.clock.advance(0);
  return [...place.documents.texts.keys()].sort();
}

async function use(place: Place, name: string): Promise<void> {
  const { store } = place.connect();
  const claim = claimOf(name);
  await grant(store, claim);
  await store.release(claim);
}

Deno.test("DocumentSweeper removes what was not used for 7 days", async () => {
  const place = new Place();
  await use(place, "a");
  assertEquals(await swept(place, 6.9), ["a", "z"]);
  assertEquals(await swept(place, 0.2), ["z"]);
});

Deno.test("DocumentSweeper removes no lock that is held, however old", async () => {
  const place = new Place();
  await grant(place.connect().store, claimOf("a", "exclusive", 1_000));
  assertEquals(await swept(place, 80), ["a", "z"]);
});

Deno.test("DocumentSweeper removes no document with a fence ahead of the clock", async () => {
  const place = new Place();
  place.clock.setWall(90 * DAY);
  await use(place, "a");
  const { value } = place.documents.texts.get("a")!;
  place.clock.setWall(-90 * DAY);
  const { used, ...fields } = JSON.parse(value);
  place.documents.set("a", JSON.stringify({ ...fields, used: used - 90 * DAY }));
  assertEquals(await swept(place, 80), ["a", "z"]);
  assertEquals(await swept(place, 11), ["z"]);
});

Deno.test("DocumentSweeper leaves out what it cannot read, and what it cannot remove", async () => {
  const place = new Place();
  for (const name of ["a", "b", "c"]) await use(place, name);
  place.documents.set("a", "a text of another program");
  assertEquals(await swept(place, 8), ["a", "z"]);
});
