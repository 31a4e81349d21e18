import { assert, assertEquals } from "@std/assert";
import { until } from "../faults/until.ts";
import { ClusterDeployment } from "./cluster.ts";
import { SentinelDeployment } from "./sentinel.ts";

Deno.test("SentinelDeployment fails over by hand and when its master is killed, and loses what it was told to", async () => {
  await using deployment = await SentinelDeployment.start();
  const client = deployment.connect();
  await client.set("a", "kept");
  assertEquals(await client.wait(2, 1_000), 2);
  const first = await deployment.master();
  const second = await deployment.failover();
  assert(second !== first, "another one");
  await until(async () => await client.get("a").catch(() => "") === "kept", "the client has found it");
  await deployment.cutReplication();
  await client.set("a", "lost");
  await second.kill();
  const third = await deployment.promoted(second);
  await until(async () => await client.get("a").catch(() => "") === "kept", "the write is lost");
  await deployment.rejoin(second);
  assertEquals((await deployment.replicas()).includes(second), true);
  assertEquals(await deployment.master(), third);
});

Deno.test("ClusterDeployment moves slots, fails over by hand and by death, and loses what it was told to", async () => {
  await using cluster = await ClusterDeployment.start();
  const client = cluster.connect();
  await client.set("a", "kept");
  const migration = await cluster.migrate("a");
  assertEquals(await client.get("a"), "kept");
  await migration.moveKeys("a");
  assertEquals(await client.get("a"), "kept", "the client was told whom to ask");
  await migration.finish();
  assertEquals((await cluster.masterOf("a")).id, migration.to.id);
  assertEquals(await client.get("a"), "kept");
  const [replica] = await cluster.replicasOf(migration.to);
  const copied = async () => await replica!.server.command("CLUSTER", "COUNTKEYSINSLOT", migration.slot) === 1;
  await until(copied, "the replica has the key");
  await cluster.cutReplication("a");
  await client.set("a", "lost");
  await migration.to.server.kill();
  assertEquals((await cluster.promoted("a", migration.to)).id, replica!.id);
  assertEquals(await client.get("a"), "kept");
  await migration.to.server.start();
  await cluster.ready();
  assertEquals((await cluster.failover("a")).id, migration.to.id);
});
