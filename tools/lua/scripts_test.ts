// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assertEquals } from "@std/assert";
import { type Claim, handleOf } from "../../src/contract/store.ts";
import { attempt } from "../../src/stores/redis/commands/attempt.ts";
import { entries } from "../../src/stores/redis/commands/entries.ts";
import { notify, release } from "../../src/stores/redis/commands/holder.ts";
import { vote as voteCommand } from "../../src/stores/redis/commands/quorum.ts";
import { NEXT, POLL_MS, TURN, WAITER_TIMEOUT_MS } from "../../src/stores/redis/constants.ts";
import { lockKeys } from "../../src/stores/redis/keys/keys.ts";
import { claimOf, LONG } from "../../tests/support/claims.ts";
import { ScriptFixture, START } from "./script_fixture.ts";

const [LOCK, QUEUE, WAITERS, HOLDERS, , FENCE] = lockKeys("lock:a");

/** How waiters are reached. */
const waiter = { address: "?holdfast:x", ticket: "" };

function ticketOf(fixture: ScriptFixture, claim: Claim, ticket = ""): string {
  const reply = fixture.run(attempt, { claim, waiter: { ...waiter, ticket } });
  return "ticket" in reply ? reply.ticket : "granted";
}

Deno.test("attempt() gives newcomers later tickets than those that were forgotten have", () => {
  const fixture = new ScriptFixture();
  fixture.run(attempt, { claim: claimOf("a") });
  const [first, forgotten, newcomer] = [claimOf("a"), claimOf("a"), claimOf("a")];
  const tickets = [first, forgotten].map((claim) => {
    fixture.ms += 10;
    return ticketOf(fixture, claim);
  });
  fixture.server.command("ZREM", QUEUE, forgotten.owner);
  fixture.server.command("HDEL", WAITERS, forgotten.owner);
  fixture.ms += 10;
  tickets.push(ticketOf(fixture, newcomer), ticketOf(fixture, forgotten, tickets[1]));
  assertEquals(tickets, [10, 20, 30, 20].map((ms) => `${(START + ms) * 1_000}`));
  const { pending } = fixture.run(entries, { name: "a" });
  assertEquals(pending.map(({ owner }) => owner), [first, forgotten, newcomer].map(({ owner }) => owner));
});

Deno.test("attempt() keeps the other waiters that it names in the queue", () => {
  const fixture = new ScriptFixture();
  fixture.run(attempt, { claim: claimOf("a") });
  const [first, named, silent] = [claimOf("a"), claimOf("a"), claimOf("a")];
  for (const claim of [first, named, silent]) ticketOf(fixture, claim);
  fixture.ms = WAITER_TIMEOUT_MS - 1;
  fixture.run(attempt, { claim: first, waiter, alive: [named.owner] });
  fixture.ms += WAITER_TIMEOUT_MS - 1;
  const { pending } = fixture.run(entries, { name: "a" });
  assertEquals(pending.map(({ owner }) => owner), [first.owner, named.owner]);
});

Deno.test("attempt() gives a ticket behind the last one when the clock was set back", () => {
  const fixture = new ScriptFixture();
  fixture.run(attempt, { claim: claimOf("a", "exclusive", 3 * LONG) });
  const tickets: string[] = [];
  for (const ms of [LONG, LONG, 0, LONG + 1]) {
    fixture.ms = ms;
    tickets.push(ticketOf(fixture, claimOf("a")));
  }
  const first = (START + LONG) * 1_000;
  assertEquals(tickets, [first, first + 1, first + 2, first + 1_000].map(String));
});

Deno.test("attempt() that steals for a short time wakes the head of the queue, and no other", () => {
  for (const [lease, woken] of [[POLL_MS - 1, true], [POLL_MS, false]] as const) {
    for (const waiters of [0, 1, 2]) {
      const fixture = new ScriptFixture();
      const holder = claimOf("a");
      fixture.run(attempt, { claim: holder });
      const waiting = Array.from({ length: waiters }, () => claimOf("a"));
      for (const claim of waiting) ticketOf(fixture, claim);
      const thief = claimOf("a", "exclusive", lease);
      const named = fixture.run(attempt, { claim: thief, steal: [] });
      assertEquals(fixture.sent(), []);
      const steal = "others" in named ? named.others : [];
      assertEquals(fixture.run(attempt, { claim: thief, steal }).granted, true);
      const head = waiting.slice(0, 1).map(({ owner }) => `${TURN}${owner}`);
      assertEquals(fixture.sent(), [holder.owner, ...(woken ? head : [])]);
    }
  }
});

Deno.test("release() wakes whom it serves, and tells the next ones of each client behind", () => {
  const fixture = new ScriptFixture();
  const holder = claimOf("a");
  fixture.run(attempt, { claim: holder });
  const waiting = ["x", "x", "x", "y", "y", "z"].map((client, i) => {
    const claim = claimOf("a", i === 0 ? "shared" : "exclusive");
    fixture.run(attempt, { claim, waiter: { address: `!holdfast:${client}`, ticket: "" } });
    return claim.owner;
  });
  fixture.run(release, holder);
  // The first of them that does not fit looks again some time later, and the first one of another client.
  assertEquals(fixture.sent(), [`${TURN}${waiting[0]}`, `${NEXT}${waiting[1]}`, `${NEXT}${waiting[3]}`]);
  assertEquals(fixture.run(entries, { name: "a" }).pending.map(({ owner }) => owner), waiting.slice(1));
});

Deno.test("release() passes over waiters whose clients are gone, if that is proved", () => {
  const fixture = new ScriptFixture();
  const [holder, gone, unseen] = [claimOf("a"), claimOf("a"), claimOf("a")];
  fixture.run(attempt, { claim: holder });
  fixture.run(attempt, { claim: gone, waiter: { address: "!holdfast:gone", ticket: "" } });
  fixture.run(attempt, { claim: unseen, waiter: { address: "?holdfast:unseen", ticket: "" } });
  for (const client of ["gone", "unseen"]) fixture.deaf.add(`holdfast:${client}`);
  fixture.run(release, holder);
  assertEquals(fixture.sent(), [`${TURN}${gone.owner}`, `${TURN}${unseen.owner}`]);
  assertEquals(fixture.run(entries, { name: "a" }).held.map(({ owner }) => owner), [unseen.owner]);
});

Deno.test("notify() wakes the first waiter that can be reached, and no more", () => {
  const fixture = new ScriptFixture();
  fixture.run(attempt, { claim: claimOf("a") });
  const waiting = ["gone", "x", "y"].map((client) => {
    const claim = claimOf("a");
    fixture.run(attempt, { claim, waiter: { address: `!holdfast:${client}`, ticket: "" } });
    return claim.owner;
  });
  fixture.deaf.add("holdfast:gone");
  fixture.run(notify, undefined);
  assertEquals(fixture.sent(), waiting.slice(0, 2).map((owner) => `${TURN}${owner}`));
});

Deno.test("attempt() of an owner that holds the lock wakes its other handles alone", () => {
  const fixture = new ScriptFixture();
  const of = (owner?: string) => claimOf("a", "exclusive", LONG, owner);
  const holder = of();
  fixture.run(attempt, { claim: holder });
  const waiting = [of("me"), of("you"), of("me"), of(), of("me")];
  for (const claim of waiting) ticketOf(fixture, claim);
  fixture.run(release, holder);
  const [first, you, second, , third] = waiting.map(handleOf);
  assertEquals(fixture.sent(), [`${TURN}${first}`, `${NEXT}${you}`]);
  assertEquals(ticketOf(fixture, waiting[0]!), "granted");
  assertEquals(fixture.sent(), [`${TURN}${second}`, `${TURN}${third}`]);
  for (const claim of [waiting[2]!, waiting[4]!]) assertEquals(ticketOf(fixture, claim), "granted");
  assertEquals(fixture.run(entries, { name: "a" }).pending.length, 2);
});

Deno.test("release() wakes the head of the queue only if the lock ends earlier", () => {
  // The lease of the first one is rounded up when the second one joins.
  for (const [leases, woken] of [[[3_000, 3_000], false], [[3_000, 3_002], true], [[POLL_MS, LONG], false]] as const) {
    const fixture = new ScriptFixture();
    const holders = leases.map((lease) => claimOf("a", "shared", lease));
    for (const claim of holders) fixture.run(attempt, { claim });
    const head = claimOf("a");
    ticketOf(fixture, head);
    assertEquals(fixture.run(release, holders[1]!), true);
    assertEquals(fixture.sent(), woken ? [`${TURN}${head.owner}`] : [], leases.join());
  }
});

Deno.test("vote() of an explicit owner stands in the list of holders, as after attempt()", () => {
  const of = (kind: "exclusive" | "shared", owner?: string) => claimOf("a", kind, LONG, owner);
  for (const [kind, value] of [["exclusive", "me/"], ["shared", ":shared"]] as const) {
    const fixture = new ScriptFixture();
    const [one, two, other] = [of(kind, "me"), of(kind, "me"), of("exclusive")];
    const vote = (claim: Claim) => fixture.run(voteCommand, { claim, guess: 5n, maxClockSkew: 0 });
    assertEquals(vote(one), { granted: true, counter: 5n, raised: true });
    assertEquals(fixture.server.command("GET", LOCK), value);
    assertEquals(fixture.server.command("ZSCORE", HOLDERS, handleOf(one)), `${START + LONG}`);
    assertEquals(vote(two).granted, true, "the same owner");
    assertEquals(vote(other).granted, false);
    for (const claim of [one, two]) assertEquals(fixture.run(release, claim), true);
    assertEquals(vote(other).granted, true);
  }
});

Deno.test("attempt() of every kind takes a fence that is no number for none", () => {
  const owned = claimOf("a", "exclusive", LONG, "me");
  for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", 2), owned]) {
    const fixture = new ScriptFixture();
    // The second one of its kind comes to a lock that is held.
    const others = claim.permits ?? claim.mode === "shared" ? [{ ...claim, owner: "another" }] : [];
    for (const each of [claim, ...others]) {
      fixture.server.command("SET", FENCE, "no number");
      assertEquals(fixture.run(attempt, { claim: each }), { granted: true, fence: BigInt(START) * 1_000n });
      assertEquals(String(fixture.server.command("GET", FENCE)).split("\0")[0], `${START * 1_000}`);
    }
  }
});

Deno.test("attempt() and vote() keep a sole handle in the key of the lock", () => {
  for (const kind of ["shared", 2] as const) {
    for (const votes of [false, true]) {
      const fixture = new ScriptFixture();
      const [one, two] = [claimOf("a", kind), claimOf("a", kind)];
      const ask = (claim: Claim) => {
        return votes
          ? fixture.run(voteCommand, { claim, guess: 5n, maxClockSkew: 0 })
          : fixture.run(attempt, { claim });
      };
      const word = kind === 2 ? ":permits=2" : ":shared";
      assertEquals(ask(one).granted, true);
      assertEquals(fixture.server.command("GET", LOCK), `${word} ${one.owner}`);
      assertEquals(ask(two).granted, true);
      assertEquals(fixture.server.command("GET", LOCK), word);
      assertEquals(fixture.server.command("ZCARD", HOLDERS), 2);
    }
  }
});
