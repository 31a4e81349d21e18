import { assert, assertEquals } from "@std/assert";
import { cas } from "../../../../src/engine/mod.ts";
import { claimOf, grant } from "../../../support/claims.ts";
import { inTime } from "../../../support/in_time.ts";
import { until } from "../../../support/until.ts";
import { findZookeeper } from "../../../support/zookeeper.ts";
import {
  closeClient,
  connected,
  type TestClient,
  type ZookeeperEnsemble,
  type ZookeeperServer,
} from "../../../support/zookeeper_server.ts";
import { zookeeper } from "../deployments/zookeeper.ts";
import { strikes } from "../strikes.ts";
import { connectTo, type SessionConnection } from "./connection.ts";
import { zookeeperLeft } from "./left.ts";
import { passwordOf } from "./sessions.ts";

const ignore = "missing" in findZookeeper();

/** How long a healthy server may take to answer, in milliseconds: shorter than most pauses. */
const SOON = 500;

/** How many servers say in time what they are. */
async function serving({ servers }: ZookeeperEnsemble): Promise<number> {
  const mode = (server: ZookeeperServer) => inTime(server.mode(), SOON, "the mode").catch(() => undefined);
  return (await Promise.all(servers.map(mode))).filter((mode) => mode !== undefined).length;
}

/** What a fault does to servers, and to clients that are connected to one each. */
type Effect = (ensemble: ZookeeperEnsemble, clients: readonly SessionConnection[]) => Promise<unknown>;

/** Rejects when so many servers do not answer. */
const silent = (count: number): Effect => async (ensemble) => {
  if (await serving(ensemble) <= ensemble.servers.length - count) throw new Error("they are silent");
};

/** What each fault does. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  "leader killed": silent(1),
  "majority killed": silent(2),
  "server frozen": silent(1),
  "follower cut off": async (ensemble, clients) => {
    const reads = await Promise.allSettled(clients.map(({ backend }) => inTime(backend.read("a"), SOON, "a read")));
    const cut = reads.filter(({ status }) => status === "rejected").length;
    // All serve their clients, also the one that is cut off.
    if (cut === 1 && await serving(ensemble) === clients.length) throw new Error("it cannot ask its leader");
  },
  "sessions expired": () => expired ? Promise.reject(new Error("it has expired")) : Promise.resolve(),
};

/** Whether the session of a client has expired since it was connected. */
let expired = false;

function expiring(address: string): TestClient {
  expired = false;
  const client = connected(address);
  client.once("expired", () => expired = true);
  return client;
}

Deno.test({
  name: "zookeeper() can do to its servers what it says, and takes it back",
  ignore,
  fn: async (t) => {
    await using deployment = await zookeeper(["a"]);
    const { ensemble, ports } = deployment;
    const { backend, close } = connectTo(ports);
    const clients = ports.map((port) => connectTo([port]));
    const claim = claimOf("a");
    await grant(cas(backend), claim);
    for (const fault of deployment.faults) {
      await t.step(fault.kind, async () => {
        const client = expiring(ensemble.address);
        assert(await strikes(fault, () => EFFECTS[fault.kind]!(ensemble, clients)), "it is noticed");
        for (const each of [backend, ...clients.map(({ backend }) => backend)]) {
          await until(() => each.read("a").then(() => true, () => false), "all is well again", 60_000);
          assert((await each.read("a")).value?.includes(claim.owner), "nothing was lost");
        }
        await closeClient(client);
      });
    }
    await Promise.all([close(), ...clients.map((client) => client.close())]);
  },
});

Deno.test({
  name: "zookeeperLeft() finds a lock that is held, and a session",
  ignore,
  fn: async () => {
    await using deployment = await zookeeper(["a"]);
    const { ensemble, ports } = deployment;
    await deployment.probe!();
    assertEquals((await deployment.left()).connections, []);
    const client = connected(ensemble.address);
    const user = connectTo(ports);
    const [store, claim] = [cas(user.backend), claimOf("a")];
    await grant(store, claim);
    const { entries, connections } = await zookeeperLeft(ensemble, ["a"], { wait: 300 });
    assert(/^Cannot acquire lock "a" within 300 ms/.test(entries[0]!), entries[0]);
    assert(connections.includes(`session 0x${user.session.toString(16)}`), connections.join());
    assertEquals(client.connectionManager.sessionPassword, passwordOf(BigInt(`0x${client.getSessionId().toHex()}`)));
    await store.release(claim);
    await Promise.all([user.close(), closeClient(client)]);
    await until(async () => (await deployment.left()).connections.length === 0, "none is left");
    assertEquals((await deployment.left()).entries, []);
  },
});
