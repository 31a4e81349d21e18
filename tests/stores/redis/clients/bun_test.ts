// Deno only: it has a client of its own, which Bun would not take for that of a version that is sound.
import { assertEquals, assertRejects } from "@std/assert";
import { BunPort } from "../../../../src/stores/redis/clients/bun.ts";
import type { BunRedisClient } from "../../../../src/stores/redis/clients/client.ts";
import { settled } from "../../../support/virtual_clock.ts";

/** A client whose second client is made when the test says so, and what was called of that. */
function place() {
  const opened = Promise.withResolvers<BunRedisClient>();
  const calls: string[] = [];
  const call = (name: string) => {
    calls.push(name);
    return Promise.resolve("OK");
  };
  const client = (connected: boolean): BunRedisClient => ({
    connected,
    connect: () => call("connect"),
    close: () => void call("close"),
    send: () => call("send"),
    subscribe: (channel) => call(`subscribe ${channel}`),
    duplicate: () => opened.promise,
  });
  const [first, second] = [client(true), client(false)];
  const port = new BunPort(first);
  const [subscribe] = port.subscribers();
  return { calls, first, second, port, open: () => opened.resolve(second), subscribe: subscribe! };
}

const LISTENER = { opened() {}, message() {}, refused() {}, ended() {} };

Deno.test("BunPort subscribes to all channels over a second client, and closes that", async () => {
  const { calls, open, subscribe } = place();
  const opened = Promise.withResolvers<void>();
  const second = subscribe(["a", "b"], { ...LISTENER, opened: opened.resolve });
  open();
  await opened.promise;
  second.close();
  assertEquals(calls, ["connect", "subscribe a", "subscribe b", "close"]);
});

Deno.test("BunPort closes a second client that is made after its subscription was closed", async () => {
  const { calls, open, subscribe } = place();
  subscribe(["a"], LISTENER).close();
  open();
  await settled();
  assertEquals(calls, ["close"]);
});

Deno.test("BunPort ends a subscription when its client connects again, or has closed", async () => {
  for (const event of ["onconnect", "onclose"] as const) {
    const { open, second, subscribe } = place();
    const opened = Promise.withResolvers<void>();
    let ended = 0;
    subscribe(["a"], { ...LISTENER, opened: opened.resolve, ended: () => ended++ });
    open();
    await opened.promise;
    second[event]!(new Error("cut off") as never);
    assertEquals(ended, 1, event);
  }
});

Deno.test("BunPort counts a cut for each new connection, and each missing reply", async () => {
  const { port, first } = place();
  const { connection } = port;
  first.onconnect!();
  assertEquals(connection.cuts, 1);
  const reply = Object.assign(new Error("ERR no"), { code: "ERR_REDIS_SERVER_ERROR" });
  for (const [error, cuts] of [[reply, 1], [new Error("Connection closed"), 2]] as const) {
    first.send = () => Promise.reject(error);
    await assertRejects(() => port.evalsha("", [], []), Error, error.message);
    assertEquals(connection.cuts, cuts);
  }
});

Deno.test("BunPort passes on to the callbacks that the client had", () => {
  const heard: string[] = [];
  const client = place().first;
  client.onconnect = () => heard.push("connect");
  client.onclose = ({ message }) => heard.push(message);
  const port = new BunPort(client);
  client.onconnect();
  client.onclose(new Error("closed"));
  assertEquals(heard, ["connect", "closed"]);
  Object.assign(client, { connected: false });
  assertEquals(port.state, "closed");
});
