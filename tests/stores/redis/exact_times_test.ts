import { assert, assertEquals } from "@std/assert";
import type { Claim } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { held, release, renew } from "../../../src/stores/redis/commands/holder.ts";
import { entries } from "../../../src/stores/redis/commands/entries.ts";
import { retake, vote } from "../../../src/stores/redis/commands/quorum.ts";
import { POLL_MS, RANK_STEP_MS } from "../../../src/stores/redis/constants.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { claimOf, LONG } from "../../support/claims.ts";
import { after, holder, START } from "./after.ts";
import { testOnServer } from "./on_server.ts";

const [LOCK, , , HOLDERS] = lockKeys("lock:a");

/** How waiters are reached about whom an undelivered message proves nothing. */
const waiter = { address: `?holdfast:${crypto.randomUUID()}`, ticket: "" };

testOnServer("renew() and entries() count a holder to the last millisecond of its lease", async ({ client }) => {
  const claim = holder(LONG);
  await after(0, client, attempt, { claim });
  const seen: unknown[] = [];
  for (const ms of [LONG - 1, LONG]) {
    const listed = await after(ms, client, entries, claim);
    seen.push([await after(ms, client, held, claim), listed.held.length]);
  }
  assertEquals(seen, [[true, 1], [false, 0]]);
  assertEquals((await after(LONG, client, renew, claim)).renewed, false);
  assertEquals((await after(LONG - 1, client, renew, claim)).renewed, true);
});

testOnServer("attempt() grants a permit from the millisecond on in which a lease ends", async ({ client }) => {
  for (const claim of [holder(LONG, 2), holder(2 * LONG, 2)]) await after(0, client, attempt, { claim });
  const claim = holder(LONG, 2);
  assertEquals(await after(LONG - 1, client, attempt, { claim }), { granted: false, retryAfter: 2, ticket: "" });
  assertEquals((await after(LONG, client, attempt, { claim })).granted, true);
});

testOnServer("attempt() returns the end of the lease, later by a step for each waiter ahead", async ({ client }) => {
  for (const kind of ["exclusive", 2] as const) {
    await client.flushall();
    await assertStepsByRank(client, kind);
  }
});

/** Asks for a lock that is held in that way, as one waiter after the other. */
async function assertStepsByRank(client: Redis, kind: "exclusive" | 2): Promise<void> {
  await after(0, client, attempt, { claim: holder(1_000, kind) });
  if (kind === 2) await after(0, client, attempt, { claim: holder(LONG, kind) });
  const asked = [];
  for (let i = 0; i < 3; i++) asked.push(await after(400, client, attempt, { claim: claimOf("a", kind), waiter }));
  asked.push(await after(400, client, attempt, { claim: claimOf("a", kind) }));
  const first = (START + 400) * 1_000;
  assertEquals(asked, [
    { granted: false, retryAfter: 601, ticket: `${first}` },
    { granted: false, retryAfter: 601 + RANK_STEP_MS, ticket: `${first + 1}` },
    { granted: false, retryAfter: 601 + 2 * RANK_STEP_MS, ticket: `${first + 2}` },
    { granted: false, retryAfter: 601 + 3 * RANK_STEP_MS, ticket: "" },
  ]);
}

testOnServer("attempt() returns the next millisecond when the lease ends in this one", async ({ client }) => {
  await after(0, client, attempt, { claim: claimOf("a") });
  const asked = [];
  for (const pttl of [0, -1]) asked.push(await after(0, client, attempt, { claim: claimOf("a") }, pttl));
  assertEquals(asked.map((reply) => "retryAfter" in reply && reply.retryAfter), [1, POLL_MS]);
});

testOnServer("attempt() returns the end of the first of the leases that an owner has", async ({ client }) => {
  const first = holder(2_000);
  // A shared handle beside the exclusive one.
  const second: Claim = { ...first, handle: `${first.owner}/${crypto.randomUUID()}`, mode: "shared", lease: 3_000 };
  for (const claim of [first, second]) assertEquals((await after(0, client, attempt, { claim })).granted, true);
  const reply = await after(0, client, attempt, { claim: claimOf("a") });
  assertEquals(reply, { granted: false, retryAfter: 2_001, ticket: "" });
});

testOnServer("attempt() that is repeated leaves a shared holder the lease that it has", async ({ client }) => {
  const [short, long] = [holder(LONG, "shared"), holder(3 * LONG, "shared")];
  for (const claim of [short, long]) await after(0, client, attempt, { claim });
  for (const [lease, ends] of [[LONG - 100, LONG], [LONG + 100, LONG + 100]] as const) {
    assertEquals((await after(0, client, attempt, { claim: { ...short, lease } })).granted, true);
    assertEquals(await client.zscore(HOLDERS, short.handle!), `${START + ends}`);
  }
});

testOnServer("release() and entries() take a waiter for dead three polls after it asked", async ({ client }) => {
  for (const [ms, alive] of [[3 * POLL_MS - 1, true], [3 * POLL_MS, false]] as const) {
    const [first, silent, next] = [claimOf("a"), claimOf("a"), claimOf("a")];
    await after(0, client, attempt, { claim: first });
    await after(0, client, attempt, { claim: silent, waiter });
    await after(1, client, attempt, { claim: next, waiter });
    assertEquals((await after(ms, client, entries, first)).pending.length, alive ? 2 : 1);
    await after(ms, client, release, first);
    assertEquals(await client.get(LOCK), alive ? silent.owner : next.owner);
    await client.flushall();
  }
});

testOnServer("release() frees the lock at once when all waiters are dead", async ({ client }) => {
  for (const mode of ["exclusive", "shared"] as const) {
    const first = claimOf("a", mode);
    await after(0, client, attempt, { claim: first });
    for (let i = 0; i < 2; i++) await after(i, client, attempt, { claim: claimOf("a"), waiter });
    assertEquals(await after(3 * POLL_MS + 1, client, release, first), true);
    assertEquals(await client.get(LOCK), null, mode);
  }
});

testOnServer("attempt() that comes again without its ticket keeps the place of the waiter", async ({ client }) => {
  await after(0, client, attempt, { claim: claimOf("a") });
  const claim = claimOf("a");
  const tickets = [];
  for (const ms of [0, 10]) tickets.push(await after(ms, client, attempt, { claim, waiter }));
  assertEquals(tickets.map((reply) => "ticket" in reply && reply.ticket), [`${START * 1_000}`, `${START * 1_000}`]);
});

testOnServer("attempt() beside a sole holder keeps its lease, which is never endless", async ({ client }) => {
  for (const [pttl, left] of [[0, 1], [1, 2], [-1, 604_800_000]] as const) {
    const sole = claimOf("a", "shared");
    await after(0, client, attempt, { claim: sole });
    await after(0, client, attempt, { claim: claimOf("a", "shared") }, pttl);
    assertEquals(await client.zscore(HOLDERS, sole.owner), `${START + left}`, `PTTL ${pttl}`);
    await client.flushall();
  }
});

testOnServer("renew() of a holder in the list ignores lower numbers, and repeats its own", async ({ client }) => {
  const claim = holder(LONG);
  await after(0, client, attempt, { claim });
  const ends: (string | null)[] = [];
  for (const [ms, renewal] of [[10, 3], [20, 3], [30, 2], [40, 4]] as const) {
    assertEquals((await after(ms, client, renew, { ...claim, renewal })).renewed, true);
    ends.push(await client.zscore(HOLDERS, claim.handle!));
  }
  assertEquals(ends, [10, 20, 20, 40].map((ms) => `${START + ms + LONG}`));
});

testOnServer("renew() of a sole holder ignores lower numbers, and repeats its own", async ({ client }) => {
  const claim = claimOf("a");
  await after(0, client, attempt, { claim });
  for (const [renewal, lease, longer] of [[3, LONG, false], [3, 3 * LONG, true], [2, LONG, true]] as const) {
    assertEquals((await after(0, client, renew, { ...claim, renewal, lease })).renewed, true);
    assertEquals(await client.pttl(LOCK) > LONG, longer, `${renewal}`);
  }
});

testOnServer("renew() says that a lease ends earlier than the waiters were told", async ({ client }) => {
  for (
    const [before, lease, earlier] of [
      [1_000, 1_000, false],
      [1_000, 999, true],
      [LONG, POLL_MS, false],
      [LONG, POLL_MS - 1, true],
    ]
  ) {
    const claim = holder(Number(before));
    await after(0, client, attempt, { claim });
    const reply = await after(0, client, renew, { ...claim, lease: Number(lease), renewal: 1 });
    assertEquals(reply, { renewed: true, earlier }, `${before} to ${lease}`);
    await client.flushall();
  }
  const claim = holder(1_000);
  await after(0, client, attempt, { claim });
  const late = await after(0, client, renew, { ...claim, lease: 999 });
  assertEquals(late, { renewed: true, earlier: false }, "without a number it may be a late one");
  await client.flushall();
  const sole = claimOf("a");
  await after(0, client, attempt, { claim: sole });
  for (const [left, lease, earlier] of [[1_000, 1_000, false], [1_000, 999, true], [LONG, POLL_MS, false]] as const) {
    const reply = await after(0, client, renew, { ...sole, lease, renewal: 1 }, left);
    assertEquals(reply, { renewed: true, earlier }, `sole, ${left} to ${lease}`);
  }
});

testOnServer("retake() keeps the lease that it gives, also with the number of a renewal", async ({ client }) => {
  const plain = claimOf("a");
  for (const claim of [plain, holder(LONG), claimOf("a", "shared")]) {
    for (const renewal of [undefined, 7]) {
      const retaken = renewal === undefined ? claim : { ...claim, renewal };
      assertEquals(await after(0, client, retake, { claim: retaken, fence: 1n, counter: 0n }), true);
      assertEquals(await client.exists(HOLDERS), claim === plain ? 0 : 1, "as after an attempt");
      if (claim.handle !== undefined) assertEquals(await client.get(LOCK), `${claim.owner}/`);
      const left = await client.pttl(LOCK);
      assert(0 < left && left <= LONG, `${left} ms`);
      const lower = { ...claim, lease: 2 * LONG, renewal: 6 };
      assertEquals((await after(0, client, renew, lower)).renewed, true);
      assertEquals(await client.pttl(LOCK) > LONG, renewal === undefined, "a renewal with a lower number");
      await client.flushall();
    }
  }
});

testOnServer("vote() raises the counter to a guess as far ahead as allowed, no further", async ({ client }) => {
  for (const [beyond, raised] of [[0n, true], [1n, false]] as const) {
    const guess = BigInt(START + LONG) * 1_000n + beyond;
    const reply = await after(0, client, vote, { claim: claimOf("a"), guess, maxClockSkew: LONG });
    assertEquals(reply, { granted: true, counter: raised ? guess : 0n, raised });
    await client.flushall();
  }
});

testOnServer("vote() raises to the end of a block as far ahead as allowed, no further", async ({ client }) => {
  for (const [beyond, raised] of [[0n, true], [1n, false]] as const) {
    const end = BigInt(START + LONG) * 1_000n + beyond;
    const reply = await after(0, client, vote, { claim: claimOf("a"), guess: end - 999n, end, maxClockSkew: LONG });
    assertEquals(reply, { granted: true, counter: raised ? end : 0n, raised });
    await client.flushall();
  }
});
