// Deno only: it makes copies of the sources.
import { assert, assertEquals } from "@std/assert";
import { Branches } from "./kernel/branches.ts";
import { WORLDS } from "./worlds.ts";

const ROOT = new URL("../../", import.meta.url);

for (const world of ["redlock", "cas", "handoff"] as const) {
  const { load, untaken } = WORLDS[world];

  Deno.test(`the branches that no seed of ${world} takes are there, and say why`, async () => {
    const branches = new Branches();
    await load(branches);
    // Nothing was taken: what is named besides is not in the sources.
    assertEquals(branches.unexpected(untaken).filter((line) => !line.startsWith("Never taken: ")), []);
    for (const why of Object.values(untaken).flatMap((reasons) => Object.keys(reasons))) {
      const files = why.match(/\b(?:tests|packages)\/[\w/]+\.ts/g) ?? [];
      for (const file of files) assert((await Deno.stat(new URL(file, ROOT))).isFile, file);
    }
  });
}

Deno.test("unexpected() names what is not known, and what is known wrongly", async () => {
  const branches = new Branches();
  await WORLDS.handoff.load(branches);
  const lines = branches.unexpected({});
  const [, file, what] = /^Never taken: (\S+):\d+ (.*)$/.exec(lines[0]!)!;
  const { length } = branches.unexpected({ [file!]: { "a reason": [what!] } });
  assert(length < lines.length, `${length} of ${lines.length}`);
  assertEquals(branches.unexpected({ [file!]: { "a reason": ["no such branch"] } }).slice(lines.length), [
    `Taken after all, or not there: ${file} no such branch`,
  ]);
});
