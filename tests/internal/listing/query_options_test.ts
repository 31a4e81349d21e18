import { assert, assertEquals, assertThrows } from "@std/assert";
import { checkQuery, entryOf, nameFilter, pageOf, withRanks } from "../../../src/internal/listing/query_options.ts";
import type { Entry } from "../../../src/contract/store.ts";
import { claimOf } from "../../support/claims.ts";
import fc from "fast-check";

/** Names and patterns of few characters, so that many fit; `*` and others that are special elsewhere among them. */
const names = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "\n", "\\", "é", "\u{1f512}"), maxLength: 6 });
const patterns = fc.string({
  unit: fc.constantFrom("a", "b", "*", "*", "?", "\n", "\\", "é", "\u{1f512}"),
  maxLength: 6,
});

/** Returns the regular expression of a pattern, in which `*` stands for any text. */
function expressionOf(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`);
}

Deno.test("nameFilter() takes the names that a pattern fits, as a regular expression does", () => {
  fc.assert(
    fc.property(patterns, names, (match, name) => {
      assertEquals(nameFilter({ match })(name), expressionOf(match).test(name), JSON.stringify([match, name]));
    }),
    { numRuns: 20_000 },
  );
});

Deno.test("nameFilter() does not take one character for two parts of a pattern", () => {
  for (const [match, name] of [["a*a", "a"], ["ab*b", "ab"], ["a*b*a", "aba"], ["*a*a*", "a"], ["ab*ba", "aba"]]) {
    assertEquals(nameFilter({ match })(name!), match === "a*b*a", match);
  }
});

Deno.test("nameFilter() with a name takes that one alone, and by default all", () => {
  assertEquals(["a", "*", ""].map(nameFilter({ name: "*" })), [false, true, false]);
  assertEquals(["a", "*", ""].map(nameFilter({})), [true, true, true]);
});

Deno.test("pageOf() lists every name that fits once, in order, on pages with a limit", () => {
  fc.assert(
    fc.property(fc.uniqueArray(names), patterns, fc.integer({ min: 1, max: 5 }), (all, match, limit) => {
      const listed: string[] = [];
      let cursor: string | undefined;
      for (let pages = 0;; pages++) {
        const page: ReturnType<typeof pageOf> = pageOf(all, {
          match,
          limit,
          ...cursor === undefined ? {} : { cursor },
        });
        assert(page.names.length <= limit && pages <= all.length, "no more than that");
        listed.push(...page.names);
        cursor = page.cursor;
        if (cursor === undefined) break;
        assertEquals(page.names.length, limit, "only the last page has fewer");
      }
      assertEquals(listed, all.filter(nameFilter({ match })).sort());
    }),
  );
});

Deno.test("pageOf() goes on behind a name that is gone, and lists what came behind it", () => {
  const first = pageOf(["a", "c", "e"], { limit: 2 });
  assertEquals(first, { names: ["a", "c"], cursor: "c" });
  assertEquals(pageOf(["b", "d", "e", "f"], { limit: 2, cursor: "c" }), { names: ["d", "e"], cursor: "e" });
  assertEquals(pageOf(["a"], { limit: 2, cursor: "c" }), { names: [], cursor: undefined });
});

Deno.test("pageOf() without a limit is one page", () => {
  assertEquals(pageOf(["b", "a"], {}), { names: ["a", "b"], cursor: undefined });
  assertEquals(pageOf(["b", "a"], { cursor: "a" }), { names: ["b"], cursor: undefined });
});

Deno.test("withRanks() counts the waiters ahead, for each name by itself", () => {
  const entries: Entry[] = ["a", "b", "a", "a", "b"].map((name) => entryOf(claimOf(name)));
  const ranked = withRanks(entries);
  assertEquals(ranked.map(({ rank }) => rank), [0, 0, 1, 2, 1]);
  assertEquals(ranked.map(({ rank: _, ...entry }) => entry), entries);
  assertEquals(withRanks(ranked.slice(1)).map(({ rank }) => rank), [0, 0, 1, 1], "an older rank does not count");
});

Deno.test("checkQuery() takes what query() documents, and returns it", () => {
  assertEquals(checkQuery(), {});
  for (const options of [{}, { name: "a" }, { match: "a*", limit: 1, cursor: "" }, { limit: undefined }]) {
    assertEquals(checkQuery(options), options);
  }
});

Deno.test("checkQuery() throws for what is wrong, and names it", () => {
  const wrong: [unknown, typeof TypeError | typeof RangeError, string][] = [
    [null, TypeError, "options must be an object: got null"],
    ["a*", TypeError, 'options must be an object: got "a*"'],
    [{ names: "a" }, TypeError, 'unknown option "names"'],
    [{ name: 7 }, TypeError, "name must be a string: got 7"],
    [{ match: /a/ }, TypeError, "match must be a string: got [object RegExp]"],
    [{ cursor: 0 }, TypeError, "cursor must be a string: got 0"],
    [{ limit: "5" }, TypeError, 'limit must be a number: got "5"'],
    [{ limit: null }, TypeError, "limit must be a number: got null"],
    [{ limit: 0 }, RangeError, "limit must be a whole number from 1 on: got 0"],
    [{ limit: 1.5 }, RangeError, "got 1.5"],
    [{ limit: NaN }, RangeError, "got NaN"],
    [{ limit: Infinity }, RangeError, "got Infinity"],
    [{ name: "a", match: "a*" }, TypeError, "name and match must not be given together"],
  ];
  for (const [options, refusal, message] of wrong) {
    assertThrows(() => checkQuery(options as Parameters<typeof checkQuery>[0]), refusal, message);
  }
});
