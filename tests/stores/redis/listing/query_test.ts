import { assert, assertEquals } from "@std/assert";
import type { Claim, Entry, Store } from "@holdfast/lock";
import { Cluster, Redis } from "ioredis";
import { lockKeys, lockOf, SlotTags } from "../../../../src/stores/redis/keys/keys.ts";
import { slots } from "../../../deployments/slots.ts";
import { until } from "../../../support/until.ts";
import { RedisServer } from "../../../support/redis_server.ts";
import { ask, claimOf, grant, LONG } from "../../../support/claims.ts";
import { type Identity, identityOf } from "../identity.ts";
import { serverStore } from "../../../support/server_store.ts";
import { testOnServer } from "../on_server.ts";

/** Names that are hard on patterns and hash tags. */
const NAMES = [
  "a",
  "b*",
  "[c]",
  "d?",
  "\\e",
  "f{g}h",
  "}i{",
  "{",
  "j:queue",
  "{lock:a}:fence",
  "😀",
  "k\nl",
  "^",
  "lock:a",
];

testOnServer("query() lists the holders and the waiters of each name, these in order", async ({ store }) => {
  const expected: { held: Claim[]; pending: Claim[] } = { held: [], pending: [] };
  assertEquals(await store.query!(), { held: [], pending: [] });
  const kinds = ["exclusive", "shared", 2] as const;
  for (const kind of kinds) {
    const name = `a ${kind}`;
    const [one, two] = [claimOf(name, kind), claimOf(name, kind, LONG, "me/too")];
    await grant(store, one);
    expected.held.push(one);
    if (kind !== "exclusive") {
      await grant(store, two);
      const again = { ...two, handle: two.handle + "2" };
      await grant(store, again);
      expected.held.push(two, again);
    }
    const waiters = kind === 2 ? [claimOf(name, 2), claimOf(name, 2)] : [claimOf(name), claimOf(name, "shared")];
    for (const waiter of [...waiters, claimOf(name, kind === 2 ? 2 : "exclusive", LONG, "you")]) {
      await ask(store, waiter);
      expected.pending.push(waiter);
    }
  }
  const [mine, again] = [claimOf("b", "exclusive", LONG, "me"), claimOf("b", "exclusive", LONG, "me")];
  for (const claim of [mine, again]) await grant(store, claim);
  expected.held.push(mine, again);
  const { held, pending } = await store.query!();
  assertEquals(sorted(held), sorted(expected.held));
  for (const kind of kinds) {
    const of = ({ name }: Entry | Claim) => name === `a ${kind}`;
    assertEquals(pending.filter(of).map(identityOf), expected.pending.filter(of).map(identityOf));
    assertEquals(pending.filter(of).map(({ rank }) => rank), [0, 1, 2]);
  }
  assertEquals(pending.length, expected.pending.length);
});

testOnServer("query() lists names of every kind, behind prefixes of every kind, and no others", async ({ server }) => {
  const admin = server.connect();
  for (const keyPrefix of [undefined, "app:", "{x}:", "[*]", "a{b"]) {
    for (const prefix of ["lock:", "", "*:", "{y}:", "z{"]) {
      await admin.flushall();
      const store = serverStore(server.connect(keyPrefix === undefined ? {} : { keyPrefix }), { prefix });
      const others = [
        serverStore(admin, { prefix: "another:" }),
        serverStore(server.connect({ keyPrefix: "other:" }), { prefix }),
      ];
      // Without any prefix it is a key of the lock "lock:a", and is refused.
      const isFree = (name: string) => prefix !== "" || keyPrefix !== undefined || name !== "{lock:a}:fence";
      const names = NAMES.filter(isFree);
      const claims = names.map((name) => claimOf(name, "shared"));
      for (const claim of claims) {
        await grant(store, claim);
        await ask(store, claimOf(claim.name));
        if (prefix !== "" || keyPrefix !== undefined) {
          for (const other of others) await grant(other, { ...claim, mode: "exclusive" });
        }
      }
      const { held, pending } = await store.query!();
      const where = JSON.stringify([keyPrefix, prefix]);
      // A prefix that is empty holds everything.
      const ours = (entries: readonly Entry[]) => entries.filter(({ name }) => names.includes(name));
      if (prefix !== "") assertEquals(held.length, ours(held).length, where);
      assertEquals(ours(held).map(({ name }) => name).sort(), [...names].sort(), where);
      assertEquals(pending.map(({ name }) => name).sort(), [...names].sort(), where);
    }
  }
});

testOnServer(
  "query() lists names with waiters only, and no dead, expired or foreign entry",
  async ({ client, store }) => {
    await client.hset("lock:hash", "mine", 1);
    await client.set("lock:rival", "a/b", "PX", LONG);
    await client.set("lock:", "no name");
    const [holder, waiter, dead, brief] = [claimOf("a"), claimOf("a"), claimOf("a"), claimOf("b", "shared", 100)];
    await grant(store, brief);
    const long = claimOf("b", "shared");
    await grant(store, long);
    await grant(store, holder);
    for (const claim of [dead, waiter]) await ask(store, claim);
    await client.del("lock:a");
    await client.hset("{lock:a}:waiters", dead.owner, "0!holdfast:x@\0");
    await until(async () => (await store.query!()).held.length === 2, "the brief one has ended");
    const { held, pending } = await store.query!();
    const rival = { name: "rival", owner: "a/b", handle: "a/b", mode: "exclusive", lease: LONG } as const;
    assertEquals(sorted(held), sorted([long, rival]));
    assertEquals(pending.map(identityOf), [identityOf(waiter)]);
  },
);

testOnServer("query() only reads, and never asks for all keys at once", async ({ server, client }) => {
  const store: Store = serverStore(client);
  for (let i = 0; i < 1_500; i++) client.set(`other:${i}`, "1");
  const claims = Array.from({ length: 250 }, (_, i) => claimOf(`${i}`, "shared"));
  await Promise.all(claims.map((claim) => grant(store, claim)));
  const monitor = server.adopt(await client.monitor());
  const commands: string[][] = [];
  monitor.on("monitor", (_time: string, args: string[]) => commands.push(args.map(String)));
  assertEquals((await store.query!()).held.length, 250);
  await client.echo("the end");
  await until(() => commands.at(-1)?.[1] === "the end", "the monitor has shown all");
  const names = new Set(commands.map(([name]) => name!.toLowerCase()));
  const allowed = ["scan", "evalsha", "eval", "get", "time", "pttl", "zrange", "zscore", "hget", "echo"];
  assertEquals([...names].filter((name) => !allowed.includes(name)), []);
  // Two patterns, and all pages of each.
  const pages = commands.filter(([name]) => name!.toLowerCase() === "scan");
  assertEquals(pages.length >= 4 && pages.length < 20, true, `${pages.length} pages`);
});

Deno.test("query() asks all masters of a Cluster", async () => {
  const settings = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"];
  await using one = await RedisServer.start(settings);
  await using other = await RedisServer.start(settings);
  const [first, second] = [one, other].map(({ port }) => ({ port, client: one.adopt(new Redis(port, "127.0.0.1")) }));
  await first!.client.cluster("ADDSLOTS", ...slots(0, 8_192));
  await second!.client.cluster("ADDSLOTS", ...slots(8_192));
  await first!.client.cluster("MEET", "127.0.0.1", other.port);
  for (const { client } of [first!, second!]) {
    await until(async () => String(await client.cluster("INFO")).includes("cluster_state:ok"), "the cluster is up");
  }
  const cluster = new Cluster([{ host: "127.0.0.1", port: one.port }], { keyPrefix: "app:" });
  try {
    const store = serverStore(cluster);
    const claims = Array.from({ length: 10 }, (_, i) => claimOf(i % 2 === 0 ? `${i}` : `${i}{a}}${i}`, "shared"));
    const waiters = claims.map(({ name }) => claimOf(name));
    for (const claim of claims) await grant(store, claim);
    for (const waiter of waiters) await ask(store, waiter);
    for (const { client } of [first!, second!]) assert((await client.dbsize()) > 0, "each master has some");
    const { held, pending } = await store.query!();
    assertEquals(sorted(held), sorted(claims));
    assertEquals(sorted(pending), sorted(waiters));
    const listed = new Set<string>();
    const cursors: string[] = [];
    do {
      const page = await store.query({ limit: 2, cursor: cursors.at(-1) });
      for (const { name } of page.held) listed.add(name);
      cursors.push(page.cursor ?? "end");
    } while (cursors.at(-1) !== "end");
    assertEquals([...listed].sort(), claims.map(({ name }) => name).sort());
    for (const { port } of [one, other]) assert(cursors.some((cursor) => cursor.endsWith(`:${port}`)), `${cursors}`);
  } finally {
    await cluster.quit();
    await until(() => ["close", "end"].includes(cluster.status), "it is closed");
  }
});

Deno.test("lockOf() finds the lock of each of its keys, and leaves others alone", () => {
  for (const keyPrefix of ["", "app:", "{x}:", "a{b", "}"]) {
    const tags = new SlotTags(keyPrefix);
    for (const name of NAMES) {
      for (const key of lockKeys(`lock:${name}`, tags)) {
        assertEquals(lockOf(keyPrefix + key, tags), `lock:${name}`, JSON.stringify([keyPrefix, key]));
      }
    }
    for (const other of ["{a}", "{a}:", "{a}:other", "{a}b:queue", "a:queue", "{}:queue", ":queue", ""]) {
      assertEquals(lockOf(keyPrefix + other, tags), other);
    }
  }
});

function sorted(entries: readonly (Entry | Claim)[]): Identity[] {
  const text = (entry: Identity) => JSON.stringify([entry.name, entry.handle]);
  return entries.map(identityOf).sort((a, b) => text(a) < text(b) ? -1 : 1);
}
