// Deno only: it makes copies of the sources.
import { assert, assertEquals } from "@std/assert";
import { countedMechanism } from "../verification/handoff/stores.ts";
import { UNTAKEN as UNTAKEN_OF_HANDOFF } from "../verification/handoff/untaken.ts";
import { Branches, type Untaken } from "./branches.ts";
import { countedEngine } from "./cas/engine.ts";
import { UNTAKEN as UNTAKEN_OF_ENGINE } from "./cas/untaken.ts";
import { countedRedlock } from "./redlock.ts";
import { UNTAKEN as UNTAKEN_OF_REDLOCK } from "./untaken.ts";

/** What is counted, and which branches of it no seed takes. */
const COUNTED: Readonly<Record<string, readonly [load: (branches: Branches) => Promise<unknown>, known: Untaken]>> = {
  "the engine": [countedEngine, UNTAKEN_OF_ENGINE],
  "Redlock": [countedRedlock, UNTAKEN_OF_REDLOCK],
  "the handoff": [countedMechanism, UNTAKEN_OF_HANDOFF],
};

const ROOT = new URL("../../", import.meta.url);

for (const [what, [load, known]] of Object.entries(COUNTED)) {
  Deno.test(`the branches of ${what} that no seed takes are there, and say why`, async () => {
    const branches = new Branches();
    await load(branches);
    // Nothing was taken: what is named besides is not in the sources.
    assertEquals(branches.unexpected(known).filter((line) => !line.startsWith("Never taken: ")), []);
    for (const why of Object.values(known).flatMap((reasons) => Object.keys(reasons))) {
      const files = why.match(/\b(?:tests|packages)\/[\w/]+\.ts/g) ?? [];
      for (const file of files) assert((await Deno.stat(new URL(file, ROOT))).isFile, file);
    }
  });
}

Deno.test("unexpected() names what is not known, and what is known wrongly", async () => {
  const branches = new Branches();
  await countedMechanism(branches);
  const lines = branches.unexpected({});
  const [, file, what] = /^Never taken: (\S+):\d+ (.*)$/.exec(lines[0]!)!;
  const { length } = branches.unexpected({ [file!]: { "a reason": [what!] } });
  assert(length < lines.length, `${length} of ${lines.length}`);
  assertEquals(branches.unexpected({ [file!]: { "a reason": ["no such branch"] } }).slice(lines.length), [
    `Taken after all, or not there: ${file} no such branch`,
  ]);
});
