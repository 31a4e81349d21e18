import { assert, assertEquals } from "@std/assert";
import type { Claim, Entry, HolderEntry } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { confirm, retake, vote } from "../../../src/stores/redis/commands/quorum.ts";
import { entries } from "../../../src/stores/redis/commands/entries.ts";
import { release } from "../../../src/stores/redis/commands/holder.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import type { RedisServer } from "../../support/redis_server.ts";
import { until } from "../../support/until.ts";
import { after, START } from "./after.ts";
import { identityOf } from "./identity.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { serverStore } from "../../support/server_store.ts";
import { testClean, testOnServer } from "./on_server.ts";

const [LOCK, QUEUE, , HOLDERS, GRANTS, FENCE] = lockKeys("lock:a");

/** The fence that the clock gives at the start of each test. */
const FIRST = BigInt(START) * 1_000n;

/** How a waiter is reached. */
const waiter = { address: "?holdfast:x", ticket: "" };

testOnServer("query() tells of a sole holder its meta, fence, lease and since when", async ({ client }) => {
  for (const kind of ["exclusive", "shared", 2] as const) {
    const claim = described(kind);
    await after(5, client, attempt, { claim });
    const [entry] = await holders(client, 7);
    assertEquals(identityOf(entry!), identityOf(claim));
    assertEquals(detailsOf(entry!), [claim.meta, START + 5, FIRST + 5_000n], `${kind}`);
    assert(entry!.expiresIn! > LONG / 2 && entry!.expiresIn! <= LONG, `${entry!.expiresIn} ms`);
    await after(9, client, release, claim);
    assertEquals(await holders(client, 9), []);
    assertEquals(await client.keys("*"), [FENCE]);
    await client.flushall();
  }
});

testOnServer("query() tells of each of several holders what was told when it was alone", async ({ client }) => {
  for (const kind of ["shared", 3] as const) {
    const claims = [described(kind), described(kind, "me"), described(kind)];
    for (const [i, claim] of claims.entries()) await after(i, client, attempt, { claim });
    const entries = await holders(client, 10);
    for (const [i, claim] of claims.entries()) {
      const entry = entries.find(({ handle }) => handle === (claim.handle ?? claim.owner));
      assertEquals(detailsOf(entry!), [claim.meta, START + i, FIRST + BigInt(i) * 1_000n], `${kind} ${i}`);
      // The lease of the first one was rounded up when the second one came.
      assert(i === 0 || entry!.expiresIn === LONG - 10 + i, `${entry!.expiresIn} ms`);
    }
    for (const claim of claims) await after(10, client, release, claim);
    assertEquals(await client.keys("*"), [FENCE]);
    await client.flushall();
  }
});

testOnServer("query() tells of each handle of an owner its meta, and the owner's fence", async ({ client }) => {
  const claims = [described("exclusive", "me"), described("exclusive", "me"), described("shared", "me")];
  for (const [i, claim] of claims.entries()) await after(i, client, attempt, { claim });
  const entries = await holders(client, 10);
  assertEquals(entries.map(identityOf), claims.map(identityOf));
  assertEquals(entries.map(detailsOf), claims.map(({ meta }, i) => [meta, START + i, FIRST]));
  await after(10, client, release, claims[0]!);
  assertEquals((await client.hkeys(GRANTS)).sort(), claims.slice(1).map(({ handle }) => handle).sort());
});

testOnServer("query() tells of each waiter its meta, since when, and its rank", async ({ client }) => {
  await after(0, client, attempt, { claim: claimOf("a") });
  const waiting = [
    described("exclusive"),
    described("shared"),
    described(1),
    { ...described("exclusive"), group: crypto.randomUUID() },
    described("shared", "me"),
    claimOf("a"),
  ];
  for (const [i, claim] of waiting.entries()) {
    await after(i, client, attempt, { claim, waiter: { ...waiter, group: claim.group } });
    // The second time it is in the queue already.
    await after(20, client, attempt, { claim, waiter: { ...waiter, group: claim.group } });
  }
  const { pending } = await after(20, client, entries, { name: "a" });
  const queued = waiting.filter(({ permits }) => permits === undefined);
  assertEquals(pending.map(identityOf), queued.map(identityOf));
  assertEquals(pending.map(metaOf), queued.map(({ meta }) => meta));
  assertEquals(pending.map(({ since }) => since! - START), [0, 1, 3, 4, 5]);
  assertEquals(pending.map(({ rank }) => rank), [0, 1, 2, 3, 4]);
});

testOnServer("query() tells of a waiter that was granted the lock what its attempt told", async ({ client }) => {
  for (const kind of ["exclusive", "shared"] as const) {
    const [holder, next] = [described("exclusive"), described(kind)];
    await after(0, client, attempt, { claim: holder });
    await after(1, client, attempt, { claim: next, waiter });
    await after(2, client, release, holder);
    const [reserved] = await holders(client, 3);
    assertEquals(
      [reserved!.handle, ...detailsOf(reserved!)],
      [next.owner, undefined, undefined, undefined],
      "reserved",
    );
    await after(4, client, attempt, { claim: next, waiter: { ...waiter, ticket: "1" } });
    assertEquals((await holders(client, 5)).map(detailsOf), [[next.meta, START + 4, FIRST + 4_000n]]);
    await after(6, client, release, next);
    assertEquals(await client.keys("*"), [FENCE]);
    await client.flushall();
  }
});

testOnServer("query() tells nothing of a former holder when a rival holds the lock", async ({ client }) => {
  const claim = described("exclusive");
  await after(0, client, attempt, { claim });
  await after(1, client, release, claim);
  await client.set(LOCK, "rival", "PX", LONG, "NX");
  const [entry] = await holders(client, 2);
  assertEquals([entry!.handle, ...detailsOf(entry!)], ["rival", undefined, undefined, undefined]);
  await client.persist(LOCK);
  assertEquals((await holders(client, 3)).map(({ expiresIn }) => expiresIn), [undefined], "it never ends");
});

testOnServer("query() tells the first fence of a block and of a run, not the counter", async ({ client }) => {
  const block = { ...described("exclusive"), fences: 5 };
  await after(0, client, attempt, { claim: block });
  assertEquals((await holders(client, 0)).map(detailsOf), [[block.meta, START, FIRST]]);
  await after(0, client, release, block);
  const group = crypto.randomUUID();
  const [holder, head, ...members] = [1, 2, 3, 4].map(() => ({ ...described("exclusive"), group }));
  await after(1, client, attempt, { claim: holder! });
  for (const claim of [head!, ...members]) await after(2, client, attempt, { claim, waiter: { ...waiter, group } });
  await after(3, client, release, holder!);
  const input = { claim: head!, waiter: { ...waiter, group, ticket: "1" } };
  const reply = await after(4, client, attempt, input);
  assertEquals("run" in reply && reply.run?.length, 2);
  assertEquals((await holders(client, 4)).map(detailsOf), [[head!.meta, START + 4, FIRST + 4_000n]]);
});

testOnServer("query() tells the fence and since when, also if the counter is ahead", async ({ client }) => {
  const last = FIRST + 1_000_000_000n;
  for (const kind of ["exclusive", "shared"] as const) {
    for (const fences of [undefined, 3]) {
      await client.set(FENCE, `${last}`);
      const claim = { ...described(kind), fences };
      await after(0, client, attempt, { claim });
      assertEquals((await holders(client, 0)).map(detailsOf), [[claim.meta, START, last + 1n]]);
      await client.flushall();
    }
  }
});

testClean("query() tells of a sole shared holder what it was, whoever moved it to the list", async ({ server }) => {
  const client = await connected(server);
  const store = serverStore(client);
  const [holder, writer, reader] = [described("shared"), described("exclusive"), described("shared")];
  const fence = await grant(store, holder);
  for (const claim of [writer, reader]) await ask(store, claim);
  // The one that leaves lets the next one in: that script does not have the key of the fence.
  await store.release(writer);
  assertEquals((await client.zrange(HOLDERS, 0, "-1")).length, 2);
  for (let times = 0; times < 2; times++) {
    const { held } = await store.query({ name: "a" });
    const [first] = held.filter(({ handle }) => handle === holder.owner);
    assertEquals([metaOf(first!), first!.fence], [holder.meta, fence]);
    await grant(store, reader);
  }
  for (const claim of [holder, reader]) await store.release(claim);
});

testOnServer("release(), evict(), steal and the end of a lease leave no record behind", async ({ server }) => {
  const client = await connected(server);
  const store = serverStore(client);
  const ends: Record<string, (claims: Claim[]) => Promise<unknown>> = {
    release: async (claims) => {
      for (const claim of claims) await store.release(claim);
    },
    evict: () => store.evict("a"),
    steal: async () => {
      const thief = described("exclusive");
      await grant(store, thief, { steal: true });
      assertEquals(await client.exists(GRANTS, HOLDERS), 0);
      await store.release(thief);
    },
    "the lease": async (claims) => {
      for (const claim of claims) await store.renew({ ...claim, lease: 1 });
      await until(async () => await client.exists(LOCK) === 0, "it has ended");
    },
  };
  for (const [end, act] of Object.entries(ends)) {
    for (const kind of ["exclusive", "shared", 3] as const) {
      const claims = [described(kind, "me"), described(kind, "me"), described(kind, "me")];
      for (const claim of claims) {
        await grant(store, claim);
        assert(await client.pttl(GRANTS) > 0, "it ends by itself");
      }
      assertEquals((await client.hkeys(GRANTS)).length, 3);
      await act(claims);
      assertEquals(await server.leftovers(), [], `${end}, ${kind}`);
    }
  }
});

testClean("release() and the end of a lease delete the record of one holder of several", async ({ client, store }) => {
  const [one, brief, last] = [described("shared"), described("shared"), described("shared")];
  for (const claim of [one, brief, last]) await grant(store, claim);
  await store.release(one);
  assertEquals((await client.hkeys(GRANTS)).sort(), [brief.owner, last.owner].sort());
  await store.renew({ ...brief, lease: 1 });
  await until(async () => (await store.query({ name: "a" })).held.length === 1, "it has ended");
  const next = described("shared");
  await grant(store, next);
  assertEquals((await client.hkeys(GRANTS)).sort(), [last.owner, next.owner].sort());
  // The hash ends with the list, whose longest lease is renewed.
  await store.renew({ ...last, lease: 2 * LONG });
  assert(await client.pttl(GRANTS) > LONG, "it lives as long as the list");
  for (const claim of [last, next]) await store.release(claim);
});

testClean("forget() of a waiter and its release leave nothing of its meta", async ({ server }) => {
  const client = await connected(server);
  const store = serverStore(client);
  const group = crypto.randomUUID();
  const [holder, head, member, gone] = [1, 2, 3, 4].map(() => ({ ...described("exclusive"), group }));
  await grant(store, holder!);
  for (const claim of [head!, member!, gone!]) await ask(store, claim);
  await store.release(gone!);
  await store.release(holder!);
  const reply = await store.attempt(head!, { enqueue: true });
  assertEquals(reply.granted && reply.run, [member!.owner]);
  store.forget?.(member!);
  await store.release(head!);
});

testOnServer("attempt() grants the lock although the records cannot be written", async ({ client, store }) => {
  const claims = [described("shared"), described("shared"), described("shared", "me")];
  for (const claim of claims) {
    await client.set(GRANTS, "mine");
    await grant(store, claim);
  }
  const { held } = await store.query({ name: "a" });
  assertEquals(held.map(({ handle }) => handle).sort(), claims.map(({ owner, handle = owner }) => handle).sort());
  for (const claim of claims) assert(await store.release(claim), "released");
  assertEquals(await client.exists(LOCK, HOLDERS, QUEUE), 0);
});

testOnServer("query() lists the lock although the key of its fence is of another type", async ({ client, store }) => {
  const claim = described("exclusive");
  await grant(store, claim);
  await client.del(FENCE);
  await client.hset(FENCE, "mine", 1);
  const [entry] = (await store.query({ name: "a" })).held;
  assertEquals([entry!.handle, ...detailsOf(entry!)], [claim.owner, undefined, undefined, undefined]);
});

testOnServer(
  "query() tells of holders without a record the fence of their owner, and no more",
  async ({ client, store }) => {
    await client.set(LOCK, "sole", "PX", LONG);
    await client.set(FENCE, "1700000000123456", "PX", LONG);
    const sole = (await store.query({ name: "a" })).held;
    assertEquals(sole.map(detailsOf), [[undefined, undefined, undefined]]);
    await client.set(LOCK, "me/", "PX", LONG);
    await client.zadd(HOLDERS, Date.now() + LONG, "me/1", "-1700000000123456", "me/");
    const owned = (await store.query({ name: "a" })).held;
    assertEquals(owned.map(detailsOf), [[undefined, undefined, 1_700_000_000_123_456n]]);
    assertEquals(identityOf(owned[0]!), { name: "a", owner: "me", handle: "me/1", mode: "exclusive" });
  },
);

testOnServer("vote() and confirm() tell the fence of the quorum, and the meta", async ({ client }) => {
  for (const kinds of [["exclusive"], ["shared"], ["shared", "shared"]] as const) {
    const claims = kinds.map((kind) => described(kind));
    const details = async () => {
      const entries = await holders(client, 10);
      return claims.map(({ owner }) => detailsOf(entries.find(({ handle }) => handle === owner)!));
    };
    for (const [i, claim] of claims.entries()) {
      const guess = FIRST + BigInt(100 * i);
      const reply = await after(i, client, vote, { claim, guess, end: guess + 9n, maxClockSkew: LONG });
      assert("raised" in reply && reply.raised, "raised");
    }
    const since = claims.map((_, i) => START + i);
    assertEquals(await details(), claims.map(({ meta }, i) => [meta, since[i], FIRST + BigInt(100 * i)]));
    for (const [i, claim] of claims.entries()) {
      const fence = FIRST + BigInt(1_000 * (i + 1));
      assert(await after(5, client, confirm, { claim, fence, end: fence + 9n }), "confirmed");
    }
    assertEquals(await details(), claims.map(({ meta }, i) => [meta, since[i], FIRST + BigInt(1_000 * (i + 1))]));
    for (const claim of claims) await after(6, client, release, claim);
    assertEquals(await client.keys("*"), [FENCE]);
    await client.flushall();
  }
});

testOnServer("vote() that raises no counter tells no fence, until that is confirmed", async ({ client }) => {
  for (const kind of ["exclusive", "shared"] as const) {
    const claim = described(kind);
    await client.set(FENCE, `${FIRST}`);
    await after(1, client, vote, { claim, guess: FIRST, maxClockSkew: LONG });
    assertEquals((await holders(client, 2)).map(detailsOf), [[claim.meta, START + 1, undefined]]);
    assert(await after(3, client, confirm, { claim, fence: FIRST + 7n }), "confirmed");
    assertEquals((await holders(client, 4)).map(detailsOf), [[claim.meta, START + 1, FIRST + 7n]]);
    await client.flushall();
  }
});

testOnServer("retake() tells the meta, and no fence: it knows only the end of a block", async ({ client }) => {
  for (const kind of ["exclusive", "shared"] as const) {
    for (const counter of [FIRST, FIRST + 9n]) {
      const claim = described(kind);
      await client.set(FENCE, `${counter}`);
      assert(await after(1, client, retake, { claim, fence: FIRST + 9n, counter }), "held again");
      assertEquals((await holders(client, 2)).map(detailsOf), [[claim.meta, START + 1, undefined]]);
      await client.flushall();
    }
  }
});

/** A claim with a meta of its own, which has what is hard to keep. */
function described(kind: Parameters<typeof claimOf>[1], owner?: string): Claim & { readonly meta: string } {
  const meta = { job: `a:b@c/d"e\n${crypto.randomUUID()}`, "ü:": "{}" };
  return { ...claimOf("a", kind, LONG, owner), meta: JSON.stringify(meta) };
}

/** Lists the holders so many milliseconds after the start. */
async function holders(client: Redis, ms: number): Promise<readonly HolderEntry[]> {
  return (await after(ms, client, entries, { name: "a" })).held;
}

function metaOf({ meta }: Entry): string | undefined {
  return meta && JSON.stringify(meta);
}

/** What a listing tells of a holder beside its claim: the meta as its claim has it, since when, and the fence. */
function detailsOf(entry: HolderEntry): (string | number | bigint | undefined)[] {
  return [metaOf(entry), entry.since, entry.fence];
}

/** A client that receives its wake-ups. */
async function connected(server: RedisServer): Promise<Redis> {
  const client = server.connect();
  await subscribed(client);
  return client;
}
