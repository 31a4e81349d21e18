// Deno only: it looks at the sources.
import { assert, assertEquals } from "@std/assert";
import type { Claim } from "@holdfast/lock";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import type { Call, Command } from "../../../src/stores/redis/commands/command.ts";
import { confirm, inspect, retake, vote } from "../../../src/stores/redis/commands/quorum.ts";
import { evict, held, notify, prolong, release, renew } from "../../../src/stores/redis/commands/holder.ts";
import { entries } from "../../../src/stores/redis/commands/entries.ts";
import { RESERVATION_MS } from "../../../src/stores/redis/constants.ts";
import type { LockKeys } from "../../../src/stores/redis/keys/keys.ts";
import type * as scripts from "../../../src/stores/redis/scripts/generated.ts";
import { FOLDER } from "../../tools/scripts/build.ts";
import { headerOf, type Parameter } from "../../tools/scripts/header.ts";

/** Each key is called what the headers call it. */
const KEYS: LockKeys = ["lock", "queue", "waiters", "holders", "grants", "fence"];

/** Without anything that may be left out. */
const bare: Claim = { name: "a", owner: "handle", mode: "exclusive", lease: 999.5 };
const exclusive: Claim = { ...bare, meta: "meta" };
const shared: Claim = { ...exclusive, mode: "shared", renewal: 7 };
const waiter = { address: "wakeup_address", ticket: "ticket" };
const guess = { guess: 5n, maxClockSkew: 99.5 };
const digests = ["digest", "digest"];

/** What is sent for each argument that a header names, when it is not the name itself. */
const SENT: ReadonlyMap<string, string> = new Map([
  ["lease_ms", "1000"],
  ["kind", ":shared"],
  // Only an exclusive claim of a fresh owner has these two.
  ["group", ""],
  ["fences", ""],
  ["guess", "5"],
  ["max_clock_skew_ms", "100"],
  ["block_end", "8"],
  ["fence", "6"],
  ["counter", "4"],
  ["renewal", "7"],
  ["reservation_ms", `${RESERVATION_MS}`],
]);

function calls<Input>({ encode }: Command<Input, unknown>, ...inputs: Input[]): Call[] {
  return inputs.map((input) => encode(KEYS, input));
}

/** Calls of each script, the first with everything that it takes, the last with as little as possible. */
const CALLS: Readonly<Record<keyof typeof scripts, Call[]>> = {
  attempt: calls(attempt, { claim: shared, waiter, steal: ["other", "other"] }, { claim: exclusive, waiter }, {
    claim: exclusive,
  }, { claim: bare }),
  vote: calls(vote, { claim: shared, waiter, ...guess, end: 8n }, { claim: shared, waiter, ...guess }),
  confirm: calls(confirm, { claim: shared, fence: 6n, end: 8n }, { claim: shared, fence: 6n }, {
    claim: bare,
    fence: 6n,
  }),
  inspect: calls(inspect, shared),
  retake: calls(retake, { claim: shared, fence: 6n, counter: 4n }, {
    claim: { ...exclusive, mode: "shared" },
    fence: 6n,
    counter: 4n,
  }),
  renew: calls(renew, shared, { ...shared, mode: "exclusive" }, exclusive),
  release: calls(release, shared),
  notify: calls(notify, undefined),
  prolong: calls(prolong, exclusive),
  held: calls(held, shared),
  evict: calls(evict, { digests, meta: "meta" }, { digests: [], meta: undefined }),
  entries: calls(entries, { name: "a" }),
};

function header(script: string) {
  const path = `${FOLDER}/${script}.lua`;
  return headerOf(path, Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url)));
}

/** So many of the parameters, in their order; the last one again and again if it is repeated. */
function first(parameters: readonly Parameter[], number: number): string[] {
  const last = parameters.at(-1);
  return Array.from({ length: number }, (_, i) => parameters[i] ?? last).map((parameter) => parameter?.name ?? "?");
}

for (const [script, sent] of Object.entries(CALLS)) {
  Deno.test(`${script}.encode() sends what the header of ${script}.lua names, in its order`, () => {
    const { keys, args } = header(script);
    for (const call of sent) {
      assertEquals(call.keys, first(keys, call.keys.length));
      assertEquals(call.args, first(args, call.args.length).map((name) => SENT.get(name) ?? name));
    }
    const needed = (parameters: readonly Parameter[]) => parameters.filter(({ times }) => times === "once").length;
    const [most, least] = [sent.at(0)!, sent.at(-1)!];
    assertEquals([least.keys.length, least.args.length], [needed(keys), needed(args)], "what may not be left out");
    assert(most.keys.length >= keys.length && most.args.length >= args.length, "all are sent");
  });
}

Deno.test("attempt.encode() sends group and fences of an exclusive claim alone", () => {
  const input = { waiter: { ...waiter, group: "group" }, alive: ["other"] };
  const both = (claim: Claim) => calls(attempt, { claim: { ...claim, fences: 3 }, ...input })[0]!.args.slice(3);
  assertEquals(both(exclusive), ["wakeup_address", "group", "ticket", "", "3", "other"]);
  assertEquals(both(shared), ["wakeup_address", "", "ticket", ":shared", "", "other"]);
});

Deno.test("vote.encode() sends an empty text for each argument that is not given", () => {
  const [call] = calls(vote, { claim: bare, ...guess });
  assertEquals(call?.args, ["handle", "1000", "", "", "", "", "5", "100"]);
});

Deno.test("vote.encode() and confirm.encode() send an end only for several fences", () => {
  const [one, two] = calls(vote, { claim: exclusive, ...guess, end: 5n }, { claim: exclusive, ...guess, end: 6n });
  assertEquals([one?.args.length, two?.args.slice(8)], [8, ["6"]]);
  const claim = bare;
  const confirms = calls(confirm, { claim, fence: 5n, end: 5n }, { claim, fence: 5n, end: 6n });
  assertEquals(confirms.map(({ args }) => args), [["handle", "5"], ["handle", "5", "", "6"]]);
});
