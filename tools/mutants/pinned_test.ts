// Deno only: it tests a tool for Deno.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { LUA_FAULTS, type LuaFault } from "./lua_faults.ts";
import { pinLua, placesIn } from "./lua_pin.ts";
import { FOLDER, MODULE } from "../../tests/tools/scripts/build.ts";
import { applied } from "./mutant.ts";
import { pin } from "./pin.ts";
import { type Edit, type Fault, FAULTS, testFileOf } from "./pinned.ts";
import { changesOf, texts } from "./changes.ts";
import { pinAll } from "./pinned_run.ts";
import { source } from "./workshop.ts";

const SOURCE = `class A {
  b() {
    // It is late.
    if (this.late && this.held) this.stop();
    this.start(  this.late);
  }
  c() {
    if (this.late) this.stop();
  }
}`;

/** What an edit of `A.b` makes of the source. */
function edited(edit: Edit, place = "A.b"): string[] {
  const fault: Fault = { name: "a fault", target: "lease", test: "lease", place, edit };
  const { change } = pin(fault, new Map([["a.ts", SOURCE]]));
  return applied(SOURCE, change).split("\n").filter((line, i) => line !== SOURCE.split("\n")[i]);
}

Deno.test("pin() finds a statement or an expression in the place that is named", () => {
  assertEquals(edited({ remove: /^this\.start/ }), ["    ;"]);
  assertEquals(edited({ remove: /^this\.stop/ }), ["    if (this.late && this.held) ;"]);
  assertEquals(edited({ drop: /^this\.held$/ }), ["    if (this.late) this.stop();"]);
  assertEquals(edited({ replace: /^this\.start\( this\.late\)$/, by: "0" }), ["    0;"]);
});

Deno.test("pin() refuses a place that is gone, or that is not the only one", () => {
  assertThrows(() => edited({ remove: /^this\.pause/ }), Error, "0 nodes of A.b");
  assertThrows(() => edited({ remove: /^this\.stop/ }, "A.d"), Error, "0 nodes of A.d");
  assertThrows(() => edited({ remove: /^this\.stop/ }, "A"), Error, "2 nodes of A");
});

Deno.test("pinLua() changes the line after the name of a place", () => {
  const text = "local a = 1\n-- @place compare\nif a >= b then\nend\n";
  const planted = (fault: Partial<LuaFault>) => {
    const whole = { name: "a fault", place: "compare", stage: { seeds: 1 }, ...fault };
    return applied(text, pinLua(whole, new Map([["a.lua", text]])).change);
  };
  assertEquals(planted({ edit: [/>=/, ">"] }), text.replace(">=", ">"));
  assertEquals(planted({}), text.replace("if a >= b then", ""));
  assertThrows(() => planted({ place: "another" }), Error, "0 lines");
  assertThrows(() => planted({ edit: [/<=/, "<"] }), Error, "if a >= b then");
});

Deno.test("changesOf() builds the scripts anew when one has changed", async () => {
  const path = `${FOLDER}/held.lua`;
  const changed = (await source(path)).replace("1 or 0", "0 or 1");
  const [before, after] = [await source(MODULE), (await changesOf(path, changed)).get(MODULE)];
  assert(after?.includes("0 or 1"), "the change is in the module");
  assert(after !== before.replace("and 1 or 0", "and 0 or 1"), "its SHA-1 is another");
  assertEquals([...(await changesOf("src/contract/store.ts", "")).keys()], ["src/contract/store.ts"]);
});

Deno.test("changesOf() builds the scripts anew when a constant has changed", async () => {
  const path = "src/stores/redis/constants.ts";
  const changed = await changesOf(path, (await source(path)).replace("QUEUE_WINDOW = 8", "QUEUE_WINDOW = 1234"));
  assert(changed.get(MODULE)?.includes("0, 1234"), "the number is in the module");
});

Deno.test("PINNED and the scripts name the same places, and all of them exist", async () => {
  await pinAll();
  for (const fault of FAULTS) await Deno.stat(new URL(`../../${testFileOf(fault)}`, import.meta.url));
  const named = [...(await texts(/^src\/stores\/redis\//)).values()].flatMap(placesIn);
  assertEquals(named.filter((place) => !LUA_FAULTS.some((fault) => fault.place === place)), []);
});
