import { assert, assertEquals } from "@std/assert";
import type { Claim } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { entries } from "../../../src/stores/redis/commands/entries.ts";
import { prolong, release } from "../../../src/stores/redis/commands/holder.ts";
import { BLOCK_LEAD_US } from "../../../src/stores/redis/constants.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { claimOf } from "../../support/claims.ts";
import { until } from "../../support/until.ts";
import { after, START } from "./after.ts";
import { testOnServer } from "./on_server.ts";

const [LOCK, , , , GRANTS, FENCE] = lockKeys("lock:a");
const GROUP = crypto.randomUUID();
const waiter = { address: "?holdfast:x", ticket: "", group: GROUP };

/** Makes claims of one group, with texts of meta that a record may spoil. */
function cohort(): [head: Claim, ...members: Claim[]] {
  const metas = [undefined, `{"a":"b:\\u0000\\u0001 %"}`, undefined, `{"text":"é \u{1f512} {}"}`];
  return metas.map((meta) => ({ ...claimOf("a"), group: GROUP, meta })) as [Claim, ...Claim[]];
}

/** Has the lock granted to the first of some waiters, which came 1 ms after the other; resolves to its run. */
async function grantRun(client: Redis, claims: readonly [Claim, ...Claim[]]): Promise<readonly string[]> {
  const holder = claimOf("a");
  await after(0, client, attempt, { claim: holder });
  for (const [i, claim] of claims.entries()) await after(i, client, attempt, { claim, waiter });
  await after(10, client, release, holder);
  const reply = await after(10, client, attempt, { claim: claims[0], waiter: { ...waiter, ticket: "1" } });
  return reply.granted ? reply.run ?? [] : [];
}

testOnServer("query() lists the members of a run with meta and since, and release() ends that", async ({ client }) => {
  const [head, ...members] = cohort();
  assertEquals(await grantRun(client, [head, ...members]), members.map(({ owner }) => owner));
  const { pending } = await after(20, client, entries, { name: "a" });
  assertEquals(
    pending,
    members.map(({ owner, meta }, i) => ({
      name: "a",
      owner,
      handle: owner,
      mode: "exclusive" as const,
      ...meta === undefined ? {} : { meta: JSON.parse(meta) },
      since: START + 1 + i,
      member: true,
      rank: i,
    })),
  );
  const left = await client.pttl(GRANTS);
  assert(left > 0 && left <= head.lease, `it does not outlive the lease: ${left} ms`);
  await after(30, client, release, head);
  assertEquals(await client.keys("*"), [FENCE]);
});

testOnServer("query() lists of a run only those that there was a fence for as its members", async ({ client }) => {
  const [head, second, ...others] = cohort();
  const holder = claimOf("a");
  await after(0, client, attempt, { claim: holder });
  for (const [i, claim] of [head, second!, ...others].entries()) await after(i, client, attempt, { claim, waiter });
  await after(10, client, release, holder);
  // There is room for one more fence.
  await client.set(FENCE, `${BigInt(START + 10) * 1_000n + BigInt(BLOCK_LEAD_US) - 2n}`);
  await after(10, client, attempt, { claim: head, waiter: { ...waiter, ticket: "1" } });
  const pending = async () => {
    const { pending } = await after(11, client, entries, { name: "a" });
    return pending.map(({ handle, member }) => [handle, member]);
  };
  assertEquals(await pending(), [[second!.owner, true], ...others.map(({ owner }) => [owner, undefined])]);
  for (const claim of others) await after(11, client, release, claim);
  assertEquals(await pending(), [[second!.owner, true]]);
});

testOnServer("renew() keeps the members of a run listed for another lease", async ({ client, store }) => {
  const [head, member] = cohort();
  const holder = claimOf("a");
  for (const claim of [holder, head, member!]) await store.attempt(claim, { enqueue: true });
  await store.release(holder);
  const granted = await store.attempt(head, { enqueue: true });
  assertEquals(granted.granted && granted.run, [member!.owner]);
  await client.pexpire(GRANTS, 1_000);
  await store.renew(head);
  await until(async () => await client.pttl(GRANTS) > 1_000, "the record lives as long as the lease");
  // A hash in its place is that of other holders.
  await client.del(GRANTS);
  await client.hset(GRANTS, "handle", "record");
  await store.renew(head);
  assertEquals(await client.pttl(GRANTS), -1);
  await store.release(head);
  await store.release(member!);
  assertEquals(await client.keys("*"), [FENCE]);
});

testOnServer("prolong() that comes late leaves the members of another holder alone", async ({ client }) => {
  const [head, ...members] = cohort();
  await grantRun(client, [head, ...members]);
  const left = await client.pttl(GRANTS);
  await after(20, client, prolong, { ...members[0]!, lease: 10 });
  assert(await client.pttl(GRANTS) > left - 5_000, "it is not shortened");
  await after(20, client, prolong, { ...head, lease: 10 });
  assert(await client.pttl(GRANTS) <= 10, "its own is");
});

testOnServer("attempt() notes no members where there are none", async ({ client }) => {
  const [head] = cohort();
  assertEquals(await grantRun(client, [head]), []);
  assertEquals(await client.exists(GRANTS), 0);
});

testOnServer("query() lists members for no other holder, nor for several", async ({ client }) => {
  const claims = cohort();
  await grantRun(client, claims);
  // As if the lease had ended.
  await client.del(LOCK);
  const next = claimOf("a");
  await after(20, client, attempt, { claim: next });
  assertEquals((await after(20, client, entries, { name: "a" })).pending, []);
  await after(20, client, release, next);
  assertEquals(await client.keys("*"), [FENCE]);
  await client.flushall();
  await grantRun(client, claims);
  await client.del(LOCK);
  const shared = [1, 2].map((i) => ({ ...claimOf("a", "shared"), meta: `{"place":"${i}"}` }));
  for (const claim of shared) {
    await after(30, client, attempt, { claim });
    assertEquals((await after(30, client, entries, { name: "a" })).pending, []);
  }
  const { held } = await after(30, client, entries, { name: "a" });
  assertEquals(held.map(({ meta }) => meta?.["place"]).sort(), ["1", "2"]);
  for (const claim of shared) await after(30, client, release, claim);
  assertEquals(await client.keys("*"), [FENCE]);
});
