import { ACL, Id, Permission } from "node-zookeeper-client";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { zookeeper, type ZookeeperAcl, type ZookeeperStat } from "@holdfast/lock/zookeeper";
import { killHolder } from "../../support/killed_holder.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { closeClient, connected, ZookeeperEnsemble } from "../../support/zookeeper_server.ts";
import { succeeds } from "../../verification/killed_suite.ts";
import { answered, answers, test } from "./place.ts";

/** A timer that began so many milliseconds ago in the epoch of another one. */
function earlier(name: string, ms: number): string {
  const [epoch, time, length] = name.split("/").map(Number);
  return `${epoch}/${time! - ms}/${length}`;
}

test("ZookeeperTimers.start() begins a timer that ends by the leader's clock", async (place) => {
  const { timers } = place.backend();
  const since = performance.now();
  const { signal } = new AbortController();
  const [one, other] = [await timers.start(1_500, signal), await timers.start(600_000)];
  assertEquals(await timers.areOver([other]), [false]);
  await until(async () => (await timers.areOver([one]))[0]!, "it is over");
  assert(performance.now() - since >= 1_500);
  assertEquals(await timers.areOver([other, earlier(other, 300_000), earlier(other, 600_000)]), [false, false, true]);
});

test("ZookeeperTimers.start() rejects once its signal aborts", async (place) => {
  const { timers } = place.backend(place.client());
  const over = new AbortController();
  const started = timers.start(60_000, over.signal);
  over.abort(new Error("given up"));
  await assertRejects(() => started, Error, "given up");
});

test("ZookeeperTimers areOver() says of which timers it knows nothing", async (place) => {
  const { timers } = place.backend();
  const name = await timers.start(60_000);
  // The leader's clock was set back since.
  assertEquals(await timers.areOver([earlier(name, -1_000_000), "t1", ""]), [undefined, undefined, undefined]);
});

test("ZookeeperTimers has a timer of another epoch count from the first moment of this", async (place) => {
  const { timers } = place.backend();
  const [epoch, time] = (await timers.start(1_000)).split("/").map(Number);
  // However that leader's clock was.
  const names = (ms: number) => [time! - 1_000_000, time! + 1_000_000].map((at) => `${epoch! + 1}/${at}/${ms}`);
  assertEquals(await timers.areOver(names(600_000)), [false, false]);
  const areOver = async () => (await timers.areOver(names(1_000))).every((isOver) => isOver);
  await until(areOver, "they are over");
});

test("ZookeeperTimers of many clients make one node, with the list of the path", async (place) => {
  const clients = [1, 2, 3, 4].map(() => place.client());
  const acl = [new ACL(Permission.ALL, new Id("ip", "127.0.0.1"))];
  await answered((done) => clients[0]!.mkdirp(place.path, done));
  await answered((done) => clients[0]!.setACL(place.path, acl, done));
  await Promise.all(clients.map((client) => answers(() => place.backend(client).timers.start(1_000))));
  const [nodes] = await answered<[readonly string[]]>((done) => clients[0]!.getChildren(place.path, done));
  assertEquals(nodes, [":clock"]);
  const [found] = await answered<[ZookeeperAcl[]]>((done) => clients[0]!.getACL(`${place.path}/:clock`, done));
  assertEquals(found.map(({ id }) => id.scheme), ["ip"]);
});

test("ZookeeperTimers make the node anew that somebody has removed", async (place) => {
  const client = place.client();
  const { timers } = place.backend(client);
  const name = await answers(() => timers.start(60_000));
  await answered((done) => client.remove(`${place.path}/:clock`, -1, done));
  assertEquals(await timers.areOver([name]), [false]);
});

test("ZookeeperBackend lists no timers", async (place) => {
  const backend = place.backend();
  await backend.write("a", "x", undefined);
  await backend.timers.start(1_000);
  const { documents, cursor } = await backend.list(100);
  assertEquals([documents.map(({ key }) => key), cursor], [["a"], undefined]);
});

test("zookeeper() starts no timer for a lock that is soon released", async (place) => {
  const store = await place.store();
  for (let i = 0; i < 10; i++) await (await acquire(store, "a")).release();
  const [nodes] = await answered<[readonly string[]]>((done) => place.client().getChildren(place.path, done));
  // The directory of its node.
  assertEquals(nodes, ["V"]);
});

test("ZookeeperTimers go on under a new leader, where a killed process is succeeded", async () => {
  await using ensemble = await ZookeeperEnsemble.start(3);
  const program = new URL("holder_process.ts", import.meta.url);
  const clients: ReturnType<typeof connected>[] = [];
  const store = (address: string) => {
    const client = connected(address);
    clients.push(client);
    return zookeeper(client, { path: "/a" });
  };
  const fence = await killHolder(program, ensemble.address, "/a", "6000", "4500");
  const { leader, followers } = await ensemble.roles();
  await leader.kill();
  const address = followers.map(({ address }) => address).join();
  await until(() => ensemble.roles().then(() => true, () => false), "another server leads", HANG_MS);
  await succeeds(() => store(address), fence, 2_000);
  // The node was made anew in the epoch of the new leader.
  const [stat] = await answered<[ZookeeperStat]>((done) =>
    clients.at(-1)!.exists("/a/:clock", () => {}, done as never)
  );
  const epoch = (zxid?: Uint8Array) => new DataView(zxid!.buffer, zxid!.byteOffset, 4).getInt32(0);
  assertEquals(epoch(stat?.czxid), epoch(stat?.mzxid));
  await Promise.all(clients.map(closeClient));
});
