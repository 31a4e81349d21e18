import { assert, assertEquals } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { PeerProxies } from "../../support/peer_proxies.ts";
import { until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { ZookeeperEnsemble } from "../../support/zookeeper_server.ts";
import { Place, test } from "./place.ts";

test("tryAcquire() on a ZooKeeper server that is behind sees a release", async () => {
  await using proxies = new PeerProxies();
  await using ensemble = await ZookeeperEnsemble.start(3, {}, proxies.reached);
  const { leader, followers: [behind] } = await ensemble.roles();
  const proxy = proxies.between(ensemble, behind!, leader);
  await using place = Place.open(leader.address);
  const holder = await place.store();
  const client = place.client(behind!.address);
  // By a clock that stands still no answer is late while the server waits for the leader.
  const other = await place.engine(new VirtualClock(), client);
  const lock = await acquire(holder, "a", { lease: 60_000 });
  await until(() => tryAcquire(other, "a").then((found) => found === null, () => false), "it is known there", 30_000);
  proxy.stall();
  await lock.release();
  let read = false;
  const { getData } = client;
  client.getData = (...call) => (read = true, getData.apply(client, call));
  const attempt = tryAcquire(other, "a");
  await until(() => read, "it reads");
  // The server answers what does not wait for the leader: by now it has answered a read without a sync.
  assertEquals(await behind!.mode(), "follower");
  proxy.resume();
  const next = await attempt;
  assert(next !== null, "the lock was free");
  await next.release();
});
