import { assertEquals } from "@std/assert";
import {
  type PlainNodeRedis,
  subscribeOver,
} from "../../../../../src/stores/redis/clients/node_redis/second_connection.ts";
import { settled } from "../../../../support/virtual_clock.ts";

/** A second client that connects when the test says so, and what was called of it. */
function place() {
  const listeners = new Map<string, (error?: Error) => void>();
  const connecting = Promise.withResolvers<void>();
  const calls: string[] = [];
  const client: PlainNodeRedis = {
    duplicate: () => client,
    connect: () => connecting.promise,
    subscribe: () => Promise.resolve(calls.push("subscribe")),
    ping: () => Promise.resolve(),
    destroy: () => void calls.push("destroy"),
    unref() {},
    on: (event, listener) => listeners.set(event, listener),
  };
  const connected = () => {
    listeners.get("connect")!();
    connecting.resolve();
  };
  return { client, calls, connected, listeners };
}

const LISTENER = { opened() {}, message() {}, refused() {}, ended() {} };

Deno.test("subscribeOver() of node-redis destroys a client that connects after its close", async () => {
  const { client, calls, connected } = place();
  const second = subscribeOver(() => Promise.resolve(client), ["a"], LISTENER);
  await settled();
  second.close();
  // Before it is connected it cannot be destroyed.
  assertEquals(calls, []);
  connected();
  await settled();
  assertEquals(calls[0], "destroy");
});

Deno.test("subscribeOver() of node-redis reports the end of its client until its close", async () => {
  const { client, listeners, connected } = place();
  const reports: string[] = [];
  const report = (name: string) => () => void reports.push(name);
  const listener = { ...LISTENER, opened: report("opened"), ended: report("ended") };
  const second = subscribeOver(() => Promise.resolve(client), ["a"], listener);
  await settled();
  connected();
  await settled();
  for (const event of ["error", "end"]) listeners.get(event)!();
  second.close();
  for (const event of ["error", "end"]) listeners.get(event)!();
  assertEquals(reports, ["opened", "ended", "ended"]);
});

Deno.test("subscribeOver() of node-redis connects no client that is made after its close", async () => {
  const { client, calls } = place();
  const made = Promise.withResolvers<PlainNodeRedis>();
  subscribeOver(() => made.promise, ["a"], LISTENER).close();
  made.resolve({ ...client, connect: () => Promise.resolve(calls.push("connect")) });
  await settled();
  assertEquals(calls, []);
});
