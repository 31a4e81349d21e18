import { memory } from "@holdfast/lock/memory";
import { assert, assertEquals } from "@std/assert";
import { sections } from "./sections.ts";

Deno.test("sections() counts every section of every worker, and leaves nothing held", async () => {
  let acquired = 0;
  const store = memory({ observer: ({ type }) => void (acquired += type === "acquired" ? 1 : 0) });
  const { done, ms } = await sections(store, { workers: 4, name: "sections", ms: 5 });
  assertEquals(done, acquired);
  assert(done > 0 && ms >= 5, `${done} in ${ms} ms`);
  assertEquals(await store.query!(), { held: [], pending: [] });
});
