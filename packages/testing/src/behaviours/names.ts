import { TRY } from "../claims.ts";
import type { Behaviours } from "../fixture.ts";
import { busy, check, checkFreed, claimOf, LONG_MS } from "../expect.ts";

/** How many bytes a name may have. */
const LONGEST = 1_024;

/** Names that a store may confuse. Each belongs to a lock of its own. */
export const NAMES: readonly string[] = [
  ...["name", "Name", "NAME", " name", "name ", "name\n", "name\r\n", "\tname", "\ufeffname", "na\u200bme"],
  ...["name\0", "name\0a", "name\0b", "\0", "\0\0"],
  ...[
    "caf\u00e9",
    "cafe\u0301",
    "cafe",
    "CAF\u00c9",
    "\ufb01",
    "fi",
    "stra\u00dfe",
    "strasse",
    "\u0130",
    "I",
    "\u0131",
  ],
  ...["/", "a/b", "a//b", "a/", "/a", "a/../b", "a\\b", "a:b", "a:b:queue", "lock:name", "name:queue", "name:fence"],
  ...["{a}b", "{b}b", "{a}c", "{}a", "a}b{", "{a", "a}", "%", "_ame", "%6eame", "na%00me"],
  ...["*", "?", "n*", "[n]ame", "n?me"],
  ...["1", "01", "1.0", "1e0", "0x1", "null", "undefined", "true", "__proto__", "constructor"],
  ...["'name'", '"name"', "name--", "name;", "$1", "\u{1f512}", "\u{1f513}", "\ud7ff", "\uffff"],
  ...[64, 128, 255, 256, 512, LONGEST - 1].flatMap((length) => ["a", "b"].map((end) => "x".repeat(length) + end)),
  ...[63, 64, LONGEST].map((length) => "x".repeat(length)),
  ...["\u00e9".repeat(LONGEST / 2), "\u00e9".repeat(LONGEST / 2 - 1), "\u{1f512}".repeat(LONGEST / 4)],
];

/** The behaviours of every store about names. */
export const names: Behaviours = {
  async "attempt() keeps names apart: each name is a lock of its own"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const held = [];
    for (const name of NAMES) {
      const claim = claimOf(name, LONG_MS);
      const attempt = await a.attempt(claim, TRY);
      check(attempt.granted, `nobody else has the lock ${JSON.stringify(name)}`);
      held.push(claim);
    }
    const [first] = held;
    check(!await b.release({ ...first!, name: "another" }), "a release of another name releases nothing");
    for (const claim of held) {
      busy(await b.attempt(claimOf(claim.name, LONG_MS), TRY));
      check(await a.renew(claim) === "renewed", `held: ${JSON.stringify(claim.name)}`);
      const next = claimOf(claim.name, LONG_MS);
      await checkFreed(a, claim, b, next);
      check(await b.release(next), `released again: ${JSON.stringify(claim.name)}`);
    }
  },
};
