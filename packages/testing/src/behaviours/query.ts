import { permit, QUEUE, share, TRY } from "../claims.ts";
import { busy, check, claimOf, granted, LONG_MS, SHORT_MS, until } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";
import type { Entry, Snapshot, Store } from "@holdfast/lock";
import { NAMES } from "./names.ts";

/** Patterns with characters that are special elsewhere, beside `*`. */
const PATTERNS: readonly string[] = [
  ...["*", "**", "", "name", "n*", "*me", "*am*", "*a*b", "a*b", "a/*", "*{*}*", "none*", "N*", "*\u{1f512}*"],
  ...["?", "n?me", "[n]ame", "[n]*", "*\\*", "\\*", "*\0*", "name\n*", "%", "_*", "*'", "$*", "^*", ".*", "caf\u00e9*"],
  ...["x".repeat(64) + "*", "*" + "x".repeat(64) + "*b"],
];

/** How many locks stay during a listing in pages, and how many are released. */
const STAYING = 60;
const PASSING = 20;

/** The limit of each page, and how many more locks a store may list. */
const PAGE = 5;
const SPARE = 25;

/** The behaviours of a store that has `query()`. */
export const query: Behaviours = {
  async "query() lists names and kinds as they are, and nobody whose lease has ended"(fixture) {
    const store = await fixture.connect();
    const { capabilities = [] } = store;
    const claims = NAMES.map((name) => claimOf(name, LONG_MS));
    if (capabilities.includes("shared")) claims.push(share("shared"), share("shared"));
    if (capabilities.includes("permits")) claims.push(permit("permits", 2), permit("permits", 2));
    const ended = claimOf("ended", SHORT_MS);
    for (const claim of [...claims, ended]) granted(await store.attempt(claim, TRY));
    const isOver = async () => (await store.query!()).held.every(({ name }) => name !== "ended");
    await until("nobody is listed whose lease has ended", isOver);
    const line = ({ name, owner, mode, permits }: Pick<Entry, "name" | "owner" | "mode" | "permits">) =>
      JSON.stringify([name, owner, mode, permits ?? null]);
    const { held, pending } = await store.query!();
    check(pending.length === 0, "nobody waits");
    const [listed, wanted] = [new Set(held.map(line)), new Set(claims.map(line))];
    for (const each of wanted) check(listed.has(each), `it is listed: ${each}`);
    for (const each of listed) check(wanted.has(each), `it is held: ${each}`);
    check(held.length === claims.length, "each once");
    for (const claim of [...claims, ended]) await store.release(claim);
  },

  async "query() lists holders and waiters, in order"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, three] = [claimOf("a {b}*", LONG_MS), claimOf("second", LONG_MS), claimOf("a {b}*", LONG_MS)];
    granted(await a.attempt(one, TRY));
    granted(await a.attempt(two, TRY));
    busy(await b.attempt(three, QUEUE));
    const fourth = claimOf("a {b}*", LONG_MS);
    busy(await a.attempt(fourth, QUEUE));
    const { held, pending } = await b.query!();
    const short = ({ name, owner, mode }: { name: string; owner: string; mode: string }) => `${name}/${owner}/${mode}`;
    check(held.map(short).sort().join() === [one, two].map(short).sort().join(), "held");
    check(pending.map(short).join() === [three, fourth].map(short).join(), "pending");
    // Each by the client that asked: a quorum knows only its own handles.
    await b.release(three);
    for (const claim of [fourth, two, one]) await a.release(claim);
    const after = await a.query!();
    check(after.held.length + after.pending.length === 0, "nothing is left to list");
  },

  async "query() with a name lists that lock alone"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claims = NAMES.map((name) => claimOf(name, LONG_MS));
    for (const claim of claims) granted(await a.attempt(claim, TRY));
    for (const { name, owner } of claims) {
      const { held, pending } = await b.query!({ name });
      const owners = [...held, ...pending].map((entry) => entry.owner);
      check(owners.join() === owner, `the only holder of ${JSON.stringify(name)}: ${owners.slice(0, 2)}`);
    }
    const none = await b.query!({ name: "nobody has it" });
    check(none.held.length + none.pending.length === 0, "nobody holds it");
    for (const claim of claims) await a.release(claim);
  },

  async "query() with match lists the names that the pattern fits, where * is any text"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claims = NAMES.map((name) => claimOf(name, LONG_MS));
    for (const claim of claims) granted(await a.attempt(claim, TRY));
    for (const match of PATTERNS) {
      const { held } = await b.query!({ match });
      const wanted = NAMES.filter((name) => matching(match).test(name));
      const listed = held.map(({ name }) => name);
      const wrong = [...wanted, ...listed].find((name) => !wanted.includes(name) || !listed.includes(name));
      const each = wrong === undefined && listed.length === wanted.length;
      check(
        each,
        `${JSON.stringify(match)} lists each name that it fits, once, and no other: ${JSON.stringify(wrong)}`,
      );
    }
    for (const claim of claims) await a.release(claim);
  },

  async "query() with limit and cursor lists every lock that stays, on pages that end"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claims = Array.from({ length: STAYING }, (_, i) => claimOf(`page ${i}`, LONG_MS));
    for (const claim of claims) granted(await a.attempt(claim, TRY));
    for (const match of [undefined, "page *"]) {
      const listed = new Set<string>();
      for (const { held } of await pages(a, b, match)) {
        check(held.length <= PAGE + SPARE, `about ${PAGE} locks on each page: ${held.length}`);
        for (const { owner } of held) listed.add(owner);
      }
      for (const { name, owner } of claims) check(listed.has(owner), `it is on one of the pages: ${name}`);
    }
    check((await b.query!()).cursor === undefined, "without a limit there is one page");
    for (const claim of claims) await a.release(claim);
  },
};

/** Reads all pages. Releases some locks after each page. */
async function pages(holder: Store, reader: Store, match: string | undefined): Promise<Snapshot[]> {
  // In any order of names, some of these locks come first.
  const passing = Array.from({ length: PASSING }, (_, i) => claimOf(`page ${i % 2 === 0 ? "!" : "~"}${i}`, LONG_MS));
  for (const claim of passing) granted(await holder.attempt(claim, TRY));
  const read: Snapshot[] = [];
  let cursor: string | undefined;
  do {
    const page: Snapshot = await reader.query!({ match, limit: PAGE, cursor });
    read.push(page);
    ({ cursor } = page);
    for (const claim of passing.splice(0, 2)) await holder.release(claim);
    check(read.length < 10 * STAYING, "the pages end");
  } while (cursor !== undefined);
  for (const claim of passing) await holder.release(claim);
  return read;
}

/** Returns the regular expression of a pattern: each of its characters stands for itself, except `*`. */
function matching(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) =>
    part.replace(/./gsu, (each) => `\\u{${each.codePointAt(0)!.toString(16)}}`)
  );
  return new RegExp(`^${parts.join("[^]*")}$`, "u");
}
