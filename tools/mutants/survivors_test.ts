// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { mutantsIn } from "./changes.ts";
import survivors from "./survivors.json" with { type: "json" };
import { targetOf } from "./targets.ts";

Deno.test("survivors.json names mutants that exist, each once, with a reason", async () => {
  const keys = survivors.map(({ mutant }) => mutant);
  const paths = new Set(keys.map((key) => key.split(" ", 1)[0]!));
  const existing = new Set<string>();
  for (const path of paths) {
    if (targetOf(path) === undefined) continue;
    for (const { key } of await mutantsIn(path)) existing.add(key);
  }
  assertEquals(keys.filter((key, i) => !existing.has(key) || keys.indexOf(key) !== i), []);
  assertEquals(survivors.filter(({ reason }) => reason === ""), []);
});
