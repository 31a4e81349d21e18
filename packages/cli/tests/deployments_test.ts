// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { ClusterDeployment } from "../../../tests/deployments/cluster.ts";
import { SentinelDeployment } from "../../../tests/deployments/sentinel.ts";
import { Masters } from "../../../tests/support/masters.ts";
import { freePort } from "../../../tests/support/free_port.ts";
import { holdfast, jsonLines } from "./cli_process.ts";

Deno.test({
  name: "holdfast finds the master behind Sentinel, also after a failover",
  fn: async () => {
    await using deployment = await SentinelDeployment.start();
    const store = `redis+sentinel://${
      deployment.address.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")
    }/holdfast`;
    // A slow machine may take longer for a failover than the usual lease lasts.
    await using lock = await acquire(redis(deployment.connect()), "a", { lease: 600_000 });
    for (const failover of [false, true]) {
      if (failover) await deployment.failover();
      const { status, err } = await holdfast(["show", "a"], { store });
      assertEquals([status, err], [0, ""]);
    }
    assert(lock.held, "all the time");
    const { status, err } = await holdfast(["ls"], { store: store.replace("/holdfast", "/other") });
    assertEquals([status, err.trimEnd().split("\n").length], [69, 1], err);
  },
});

Deno.test({
  name: "holdfast lists the locks of all masters of a Cluster",
  fn: async () => {
    await using deployment = await ClusterDeployment.start();
    const store = redis(deployment.connect());
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`);
    await using stack = new AsyncDisposableStack();
    for (const name of names) stack.use(await acquire(store, name));
    const url = `redis+cluster://${deployment.addresses.slice(0, 2).map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
    const { status, out, err } = await holdfast(["ls", "--json"], { store: url });
    assertEquals([status, err], [0, ""]);
    assertEquals(jsonLines<{ name: string }>(out).map(({ name }) => name).sort(), names.sort());
    const one = await holdfast(["ls", "--json"], { store: url.replace("+cluster", "").replace(/,.*/, "") });
    const words = "is one node of a Cluster, and lists only its own locks: use redis+cluster://";
    assertEquals(
      [one.status, one.err.includes(words), jsonLines(one.out).length < names.length],
      [0, true, true],
      one.err,
    );
    const nowhere = await holdfast(["ls"], { store: `redis+cluster://127.0.0.1:${freePort()}` });
    assertEquals([nowhere.status, /within 5 s: node 127\.0\.0\.1:/.test(nowhere.err)], [69, true], nowhere.err);
  },
});

Deno.test("holdfast takes several --store for a quorum", async () => {
  await using masters = await Masters.start(3);
  const store = masters.servers.map(({ port }) => `redis://127.0.0.1:${port}`);
  const { status, err } = await holdfast(["ls"], { store });
  // Either it can list, or it says of which store it cannot.
  assert(status === 0 || err.includes(store.join(", ")), err);
  const { err: mixed } = await holdfast(["ls"], { store: [store[0]!, `${store[1]}?prefix=b:`] });
  assertEquals(mixed, "holdfast: the servers of a quorum must have the same prefix\n");
});
