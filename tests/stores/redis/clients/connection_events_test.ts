import { assertEquals } from "@std/assert";
import { EventEmitter } from "node:events";
import type { Connection } from "../../../../src/stores/redis/clients/connection.ts";
import { portOf } from "../../../../src/stores/redis/clients/port_of.ts";
import type { NodeRedisClient } from "../../../../src/stores/redis/clients/client.ts";
import { rejectUnanswered } from "../../../../src/stores/redis/clients/ioredis/repairs.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { FakeClient } from "../fake_client.ts";

function connect(extra: object = {}): { client: FakeClient; connection: Connection; error: () => string | undefined } {
  const client = Object.assign(new FakeClient(), extra);
  const { connection } = portOf(client.client);
  return { client, connection, error: () => connection.error?.message };
}

const ALL = "All sentinels are unreachable. Retrying from scratch after 10ms.";

Deno.test("Connection.error adds what a Sentinel said to the error that all have failed", () => {
  const { client, connection, error } = connect();
  client.emit("error", new Error(ALL));
  assertEquals(error(), ALL);
  const detail = new Error("failed to connect to sentinel 127.0.0.1:1");
  client.emit("sentinelError", detail);
  client.emit("error", new Error(ALL));
  assertEquals([error(), connection.error?.cause], [`${detail.message} (${ALL})`, detail]);
  client.emit("error", new Error("connect ETIMEDOUT"));
  assertEquals(error(), "connect ETIMEDOUT", "that is about the master");
  client.emit("ready");
  client.emit("error", new Error(ALL));
  assertEquals(error(), ALL, "what was said before it was connected is over");
});

Deno.test("Connection.error adds the code of an error, unless its message has it", () => {
  const { client, connection, error } = connect();
  const of = (message: string, code?: unknown, errors?: unknown) => {
    const given = Object.assign(new Error(message), { code, errors });
    client.emit("error", given);
    return connection.error === given ? "as it is" : error();
  };
  assertEquals(of("connect ECONNREFUSED 127.0.0.1:1", "ECONNREFUSED"), "as it is");
  assertEquals(of("Connection is closed."), "as it is");
  assertEquals(of("with a number", 5), "as it is");
  assertEquals(of("expired", "CERT_HAS_EXPIRED"), "expired (CERT_HAS_EXPIRED)");
  assertEquals(of("", undefined, [new Error("one"), "two"]), "one; two");
  assertEquals(of("said", undefined, [new Error("one")]), "as it is");
  assertEquals(of(""), "as it is");
});

Deno.test("Connection.unlessDenied() rejects what waits for a denied connection", async () => {
  const { client, connection } = connect();
  const refused = new Error("connect ECONNREFUSED 127.0.0.1:1");
  const denied = new Error("getaddrinfo EPERM localhost");
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = [1, 2].map(() => connection.unlessDenied(promise).catch((error: unknown) => error));
  client.emit("error", refused);
  const answered = connection.unlessDenied(Promise.resolve("answer"));
  assertEquals(await answered, "answer", "another error may pass");
  client.emit("error", denied);
  assertEquals(await Promise.all(waiting), [denied, denied]);
  assertEquals(await connection.unlessDenied(promise).catch((error: unknown) => error), denied, "and what comes later");
  client.emit("ready");
  const later = connection.unlessDenied(promise);
  resolve("permitted");
  assertEquals(await later, "permitted");
});

Deno.test("Connection.error says nothing of a client that was closed for good", () => {
  for (const [status, words] of [["end", undefined], ["close", "the server has closed the connection"]] as const) {
    const { client, connection, error } = connect({ status });
    client.emit("close");
    assertEquals([error(), connection.cuts], [words, 1]);
    connection.answered();
    assertEquals(error(), undefined);
  }
});

Deno.test("Connection takes the errors of nodes, and counts their cuts, only of a Cluster", () => {
  const node = new EventEmitter();
  for (const isCluster of [true, false]) {
    const { client, connection, error } = connect({ isCluster, nodes: () => [node] });
    const cause = new Error("Connection is closed.");
    client.emit("node error", cause, "127.0.0.1:1");
    assertEquals(error(), isCluster ? "node 127.0.0.1:1: Connection is closed." : undefined);
    assertEquals(connection.error?.cause, isCluster ? cause : undefined);
    client.emit("close");
    assertEquals(connection.cuts, isCluster ? 0 : 1);
    node.emit("close");
    assertEquals(connection.cuts, 1);
  }
  assertEquals(connect({ isCluster: true }).connection.cuts, 0, "a Cluster client that does not tell its nodes");
});

Deno.test("Connection.error of a Cluster adds what a node said", () => {
  const { client, error } = connect({ isCluster: true });
  client.emit("node error", new Error("no"), "127.0.0.1:1");
  client.emit("error", new Error("Failed to refresh slots cache."));
  assertEquals(error(), "node 127.0.0.1:1: no (Failed to refresh slots cache.)");
});

Deno.test("Connection counts a cut when a client of Sentinels has left its master", () => {
  const client = Object.assign(new EventEmitter(), { evalSha() {}, getMasterNode() {}, isOpen: true, isReady: false });
  client.on("error", () => {});
  const { connection } = portOf(client as unknown as NodeRedisClient);
  let left = 0;
  connection.listen({ ready() {}, down: () => left++, closed() {} });
  client.emit("topology-change", { type: "MASTER_CHANGE" });
  assertEquals(connection.cuts, 0, "that is how it finds its first one");
  client.isReady = true;
  client.emit("ready");
  client.emit("topology-change", { type: "REPLICA_ADD" });
  assertEquals([connection.cuts, left], [0, 1]);
  client.emit("topology-change", { type: "MASTER_CHANGE" });
  assertEquals([connection.cuts, left], [1, 2], "it sends again what the former one has not answered");
  assertEquals(connection.error, undefined, "and has not failed");
});

Deno.test("NodeRedisPort counts one cut, however often its client then tries in vain", () => {
  const client = Object.assign(new EventEmitter(), { evalSha() {}, isOpen: true, isReady: false, options: {} });
  client.on("error", () => {});
  const { connection } = portOf(client as unknown as NodeRedisClient);
  const refused = new Error("connect ECONNREFUSED 127.0.0.1:1");
  client.emit("error", refused);
  assertEquals(connection.cuts, 0, "it was never connected");
  for (const cuts of [1, 2]) {
    client.isReady = true;
    client.emit("ready");
    client.isReady = false;
    for (let tries = 0; tries < 3; tries++) client.emit("error", refused);
    assertEquals(connection.cuts, cuts);
  }
});

Deno.test("NodeRedisPort rejects what waits for its database when the client is closed", async () => {
  const options = { database: 3, disableOfflineQueue: true };
  const client = Object.assign(new EventEmitter(), { evalSha() {}, isOpen: true, isReady: false, options });
  client.on("error", () => {});
  let outcome = "it waits";
  portOf(client as unknown as NodeRedisClient).evalsha("sha", [], []).catch(({ message }) => outcome = message);
  client.emit("end");
  await settled();
  assertEquals(outcome, "The client is closed");
});

Deno.test("Connection says that ioredis was closed for good, which forgets commands then", () => {
  const events: string[] = [];
  const prevCommandQueue = [{ command: { reject: () => events.push("rejected") } }];
  const { client, connection } = connect({ prevCommandQueue });
  const [ready, down, closed] = ["ready", "down", "closed"].map((event) => () => void events.push(event));
  connection.listen({ ready: ready!, down: down!, closed: closed! });
  client.emit("close");
  client.emit("end");
  assertEquals(events, ["down", "rejected", "closed"]);
});

Deno.test("rejectUnanswered() rejects the commands that the client has forgotten", () => {
  const rejected: string[] = [];
  const sent = (name: string) => ({
    command: { reject: ({ message }: Error) => rejected.push(`${name}: ${message}`) },
  });
  const prevCommandQueue = [sent("a"), sent("b")];
  rejectUnanswered(Object.assign(new FakeClient(), { prevCommandQueue }).client);
  assertEquals([rejected, prevCommandQueue.length], [["a: Connection is closed.", "b: Connection is closed."], 0]);
  for (const none of [null, undefined, {}]) {
    rejectUnanswered(Object.assign(new FakeClient(), { prevCommandQueue: none }).client);
  }
});
