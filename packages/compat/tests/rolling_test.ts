// Deno only: it starts processes and a server.
import { assert, assertEquals } from "@std/assert";
import { roll } from "./rolling/run.ts";
import { overlaps } from "./rolling/sections.ts";

for (const library of ["redlock", "redis-semaphore"] as const) {
  Deno.test(`processes on ${library} are replaced one by one, and exclude each other`, async () => {
    const { sections, writes, ...bad } = await roll({ library, each: 4, ms: 20_000 });
    assertEquals(bad, { overlaps: [], lost: 0, left: [] });
    assert(sections.old > 0 && sections.compat > 0 && sections.ours > 0, JSON.stringify(sections));
    assert(writes > 0);
  });
}

Deno.test("roll() finds processes that lock another key", async () => {
  let found = false;
  // A slow machine may enter few sections in so short a time.
  for (let ms = 4_000; !found && ms <= 32_000; ms *= 2) {
    const { overlaps } = await roll({ library: "redlock", each: 2, ms, prefix: "other:" });
    found = overlaps.some((each) => each.includes("ours"));
  }
  assert(found, "they overlap");
});

Deno.test("overlaps() finds who enters while a lock is to be trusted, and nobody else", () => {
  const enter = (at: number, section: string) => ({ at, section, kind: section, trustedUntil: at + 10 });
  assertEquals(overlaps([enter(1, "a"), enter(5, "b")]), ["b entered beside a at 5"]);
  assertEquals(overlaps([enter(1, "a"), { at: 4, section: "a", kind: "a" }, enter(5, "b")]), []);
  assertEquals(overlaps([enter(1, "a"), enter(11, "b")]), []);
});
