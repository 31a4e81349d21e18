import { assertEquals } from "@std/assert";
import { handleName, oldestFirst, placeName } from "../../src/display/entries.ts";
import type { HolderEntry } from "../../../../src/contract/store.ts";

Deno.test("handleName() names host and process, or else the owner", () => {
  const cases = [[{ host: "web-1", pid: "7" }, "web-1/7"], [{ host: "web-1" }, "web-1"], [{ pid: "7" }, "process 7"]];
  for (const [meta, name] of cases) assertEquals(handleName({ owner: "o", meta: meta as never }), name);
  for (const meta of [undefined, {}, { job: "x" }]) assertEquals(handleName({ owner: "o", meta }), "o");
});

Deno.test("placeName() says how many may hold the lock, and who is of the holder's run", () => {
  assertEquals(placeName({ mode: "shared" }), "shared");
  assertEquals([1, 3].map((permits) => placeName({ mode: "shared", permits })), ["1 permit", "3 permits"]);
  assertEquals(placeName({ mode: "exclusive", member: true }), "exclusive, in the holder's run");
});

Deno.test("oldestFirst() puts those whose age is not known last, in their order", () => {
  const holder = (handle: string, since?: number): HolderEntry => {
    return { name: "a", owner: handle, handle, mode: "shared", since };
  };
  const held = [holder("x"), holder("b", 2), holder("y"), holder("a", 1)];
  assertEquals(oldestFirst(held).map(({ handle }) => handle), ["a", "b", "x", "y"]);
});
