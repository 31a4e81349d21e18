import { assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { ZookeeperConnection } from "../../../src/stores/zookeeper/client.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";
import { CONNECTED, DISCONNECTED, EXPIRED, ScriptedClient } from "./scripted_client.ts";

/** A client that connects, and what the store does with its connections. */
class Connecting {
  readonly clock = new VirtualClock();
  readonly scripted = new ScriptedClient();
  /** The connections that the store has ended, by their numbers. */
  readonly ended: number[] = [];
  readonly connection: ZookeeperConnection;
  #sockets = 0;

  constructor() {
    this.scripted.code = DISCONNECTED;
    this.connection = new ZookeeperConnection(this.scripted.client, this.clock);
    this.connects();
  }

  /** The client begins another connection. */
  connects(): void {
    const number = ++this.#sockets;
    this.scripted.connectionManager.socket = { destroy: () => void this.ended.push(number) };
  }

  /** Makes a call that gives up after 1.5 s. */
  async callInVain(): Promise<void> {
    const call = assertRejects(() => this.connection.sync(), StoreError, "has not been connected");
    await this.clock.advance(1_500);
    await call;
  }
}

Deno.test("ZookeeperConnection ends a connection that takes more than 5 s to make", async () => {
  const connecting = new Connecting();
  await connecting.callInVain();
  await connecting.clock.advance(3_500);
  await connecting.callInVain();
  assertEquals(connecting.ended, [], "5 s after the first call gave up");
  await connecting.callInVain();
  assertEquals(connecting.ended, [1]);
});

Deno.test("ZookeeperConnection gives each connection its 5 s, whatever a former one took", async () => {
  const connecting = new Connecting();
  await connecting.callInVain();
  // A minute later another one is being made, which is slow, not frozen.
  await connecting.clock.advance(60_000);
  connecting.connects();
  await connecting.callInVain();
  await connecting.clock.advance(3_500);
  await connecting.callInVain();
  assertEquals(connecting.ended, []);
  await connecting.callInVain();
  assertEquals(connecting.ended, [2]);
});

Deno.test("ZookeeperConnection ends the connection that gives no answer within 5 s", async () => {
  for (const reconnects of [false, true]) {
    const connecting = new Connecting();
    const { clock, connection, scripted } = connecting;
    scripted.code = CONNECTED;
    const call = assertRejects(() => connection.sync(), Error, "no answer from ZooKeeper within 5000 ms");
    await clock.advance(4_999);
    assertEquals([connecting.ended, scripted.requested], [[], ["sync"]]);
    if (reconnects) connecting.connects();
    await clock.advance(1);
    await call;
    assertEquals([connecting.ended, clock.pending], [[1], 0]);
  }
});

Deno.test("ZookeeperConnection sends nothing before it is connected, nor after a call", async () => {
  const connecting = new Connecting();
  const { connection, scripted, clock } = connecting;
  await connecting.callInVain();
  const call = connection.sync();
  await clock.advance(1_499);
  assertEquals(scripted.requested, []);
  scripted.connect();
  await settled();
  assertEquals(scripted.requested, ["sync"]);
  scripted.answer();
  await call;
  assertEquals(clock.pending, 0);
});

Deno.test("ZookeeperConnection replaces an expired session with the next call", async () => {
  const connecting = new Connecting();
  const { connection, scripted } = connecting;
  await connecting.callInVain();
  scripted.expire();
  await settled();
  assertEquals(scripted.code, EXPIRED, "nothing is left of a call that gave up");
  const call = connection.sync();
  await settled();
  assertEquals([scripted.code, scripted.requested], [CONNECTED, ["sync"]]);
  scripted.answer();
  await call;
});

Deno.test("ZookeeperConnection says of a lost answer that the client was closed", async () => {
  const scripted = new ScriptedClient();
  const connection = new ZookeeperConnection(scripted.client, new VirtualClock());
  const lost = Object.assign(new Error("CONNECTION_LOSS"), { code: -4 });
  const before = assertRejects(() => connection.sync(), Error);
  scripted.answer(lost);
  assertEquals(await before, lost);
  const behind = assertRejects(() => connection.sync(), StoreError, "closed");
  scripted.close();
  scripted.answer(lost);
  assertEquals((await behind).permanent, true);
});
