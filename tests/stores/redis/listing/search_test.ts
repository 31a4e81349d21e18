import { assert, assertEquals, assertRejects } from "@std/assert";
import { type QueryOptions, type Snapshot, StoreError } from "@holdfast/lock";
import { portOf } from "../../../../src/stores/redis/clients/port_of.ts";
import { KeySpace, SlotTags } from "../../../../src/stores/redis/keys/keys.ts";
import { query } from "../../../../src/stores/redis/listing/search.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { FakeClient, replyError } from "../fake_client.ts";

/** A server, or node, that has these keys, in so many pages; `log` notes what it is asked. */
function node(keys: readonly string[], pages = 1, log: string[] = []) {
  const scan = (cursor: string, match: string, pattern: string, count: string, size: number) => {
    log.push([cursor, match, count, size].join(" "));
    if (!pattern.endsWith(":*")) return Promise.resolve(["0", []]);
    const page = Number(cursor);
    return Promise.resolve([page + 1 === pages ? "0" : page + 1, keys.filter((_, i) => i % pages === page)]);
  };
  return { scan };
}

/** Lists the names that are found, over a client with these properties. */
async function names(properties: object): Promise<string[]> {
  return (await list(properties)).held.map(({ name }) => name).sort();
}

/** Lists what is found, over a client with these properties. */
function list(properties: object, options?: QueryOptions): Promise<Snapshot> {
  const client = Object.assign(new FakeClient(), properties);
  const look = (name: string) =>
    Promise.resolve({ held: [{ name, owner: "me", handle: "me", mode: "shared" as const }], pending: [] });
  return query(portOf(client.client), new KeySpace(portOf(client.client), "lock:"), look, options);
}

Deno.test("query() looks at each name once, on all pages", async () => {
  const keys = ["lock:a", "{lock:a}:queue", "lock:b", "lock:", "other", "lock:c", "lock:a"];
  const log: string[] = [];
  assertEquals(await names(node(keys, 3, log)), ["a", "b", "c"]);
  assertEquals(log.filter((line) => line.startsWith("0 MATCH COUNT ")).length, 2, "one for each pattern");
  assertEquals(log.map((line) => line.split(" ")[0]).sort(), ["0", "0", "1", "2"]);
});

Deno.test("query() asks the masters of a Cluster, and else the client", async () => {
  const nodes = (role?: string) => role === "master" ? [node(["lock:a"]), node(["lock:b"])] : [];
  assertEquals(await names({ isCluster: true, nodes, ...node(["lock:c"]) }), ["a", "b"]);
  assertEquals(await names({ isCluster: true, ...node(["lock:c"]) }), ["c"]);
  assertEquals(await names({ nodes, ...node(["lock:c"]) }), ["c"]);
});

Deno.test("query() goes from master to master of a Cluster, in the order of their addresses", async () => {
  const master = (port: number, keys: string[]) => ({ ...node(keys, 2), options: { host: "10.0.0.1", port }, on() {} });
  const all = [master(7_002, ["lock:c", "lock:d"]), master(7_001, ["lock:a", "lock:b"])];
  const cluster = { isCluster: true, nodes: () => all };
  const cursors: string[] = [];
  const found: string[] = [];
  while (cursors.at(-1) !== "end") {
    const page = await list(cluster, { limit: 1, cursor: cursors.at(-1) });
    found.push(...page.held.map(({ name }) => name));
    cursors.push(page.cursor ?? "end");
  }
  assertEquals(found, ["a", "b", "c", "d"]);
  assertEquals(cursors, ["1:1:10.0.0.1:7001", "0:0:10.0.0.1:7002", "1:1:10.0.0.1:7002", "end"]);
  // Masters that come do not matter. One that goes takes the rest of its list along.
  all.push(master(7_000, ["lock:e"]));
  assertEquals((await list(cluster, { cursor: cursors[0] })).held.map(({ name }) => name), ["b", "c", "d"]);
  all.splice(0, 1);
  const error = await assertRejects(() => list(cluster, { cursor: cursors[1] }), StoreError, "from the start");
  assert(error.permanent && error.message.includes("10.0.0.1:7002"), error.message);
});

Deno.test("query() ends a page early where hardly a key is one of a lock", async () => {
  let calls = 0;
  const scan = (_cursor: string, _match: string, _pattern: string, _count: string, size: number) => {
    assert(size <= 1_000, `${size} keys`);
    return Promise.resolve([`${++calls}`, []]);
  };
  const page = await list({ scan }, { limit: 10 });
  assertEquals([page.held, calls], [[], 100]);
  assertEquals(page.cursor, "0:100:");
});

Deno.test("query() asks about at most a hundred locks at a time", async () => {
  const client = Object.assign(new FakeClient(), node(Array.from({ length: 250 }, (_, i) => `lock:${i}`)));
  let [asked, asking, most] = [0, 0, 0];
  const look = async (name: string) => {
    asked++;
    most = Math.max(most, ++asking);
    await settled();
    asking--;
    return { held: [], pending: [{ name, owner: "me", handle: "me", mode: "exclusive" as const, rank: 0 }] };
  };
  const { held, pending } = await query(
    portOf(client.client),
    new KeySpace(portOf(client.client), "lock:"),
    look,
  );
  assertEquals([held.length, pending.length, new Set(pending.map(({ name }) => name)).size], [0, 250, 250]);
  assertEquals(asked, 250);
  assert(most <= 100, `${most} at a time`);
});

Deno.test("query() rejects with a StoreError: a search that fails has changed nothing", async () => {
  for (
    const [reason, words, permanent] of [
      [replyError("NOPERM this user has no permissions to run the 'scan' command"), "ACL SETUSER app +scan", true],
      [replyError("LOADING Redis is loading the dataset in memory"), "LOADING", false],
      [new Error("NOPERM is what no server has said"), "NOPERM", false],
      ["cut", "cut", false],
    ] as const
  ) {
    const scan = () => Promise.reject(reason);
    const error = await assertRejects(() => names({ scan, options: { username: "app" } }), StoreError, words);
    assertEquals([error.permanent, error.cause], [permanent, reason]);
  }
  await assertRejects(() => names({}), TypeError, "scan");
});

Deno.test("RedisPort.user is that of the client or of a Cluster, or the default one", () => {
  const of = (isCluster: boolean, options?: object) => {
    return portOf(Object.assign(new FakeClient(), { isCluster, options }).client).user;
  };
  assertEquals([of(false, { username: "app" }), of(true, { redisOptions: { username: "app" } })], ["app", "app"]);
  const none = [of(false), of(false, {}), of(false, { username: "" }), of(false, { username: 5 })];
  assertEquals(none, none.map(() => "default"));
  const others = [
    of(true),
    of(true, {}),
    of(true, { username: "app" }),
    of(false, { redisOptions: { username: "a" } }),
  ];
  assertEquals(others, others.map(() => "default"));
});

Deno.test("KeySpace.nameOf() finds the names behind both prefixes, and no others", () => {
  const client = Object.assign(new FakeClient(), { options: { keyPrefix: "app:" } });
  const keys = new KeySpace(portOf(client.client), "lock:");
  const found = ["app:lock:a", "app:{app:lock:b}:queue", "app:lock:", "app:other", "app:{lock:c}:queue"];
  assertEquals(found.map((key) => keys.nameOf(key)), ["a", "b", undefined, undefined, undefined]);
  assertEquals(new KeySpace(portOf(new FakeClient().client), "").nameOf("a"), "a");
  assertEquals(keys.keysOf("a")[1], "{app:lock:a}:queue");
  assertEquals(keys.keysOf("b")[0], "lock:b");
});

Deno.test("KeySpace.keysOf() says for good that no two keys can share a slot", () => {
  const client = Object.assign(new FakeClient(), { options: { keyPrefix: "{}" } });
  const keys = new KeySpace(portOf(client.client), "lock:");
  try {
    keys.keysOf("a}b");
    assert(false, "it throws");
  } catch (error) {
    assert(error instanceof StoreError && error.permanent && error.cause instanceof RangeError, `${error}`);
  }
});

Deno.test("SlotTags.numberIn() is the lowest number, whatever was searched for before", () => {
  const wanted = Array.from({ length: 20 }, (_, i) => i * 800);
  const [up, down] = [new SlotTags("app:"), new SlotTags("app:")];
  const numbers = wanted.map((slot) => up.numberIn(slot));
  const reversed = [...wanted].reverse().map((slot) => down.numberIn(slot)).reverse();
  assertEquals(reversed, numbers);
  assertEquals(wanted.map((slot) => up.numberIn(slot)), numbers);
  // By the specification "{0}" lies in the slot 13907.
  assertEquals(new SlotTags("").numberIn(13_907), 0);
});
