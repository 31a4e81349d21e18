import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ChannelListener } from "../../../src/stores/postgres/listen.ts";
import { Notifications } from "../../../src/stores/postgres/notifications.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const [OLD, NEW] = ["1".repeat(32), "2".repeat(32)] as const;

/** What a probe meets: it arrives, it is lost, or the connection is lost right behind it. */
type Fate = "arrives" | "lost" | "connection lost behind it";

/** Notifications over connections that the test makes, in virtual time. */
class Fixture {
  readonly clock = new VirtualClock();
  readonly notifications: Notifications;
  /** The connection that listens. */
  listener: ChannelListener | undefined;
  made = 0;
  ended = 0;
  fate: Fate = "arrives";
  /** The last notification that was sent. */
  sent = "";

  constructor({ lingers = 1_000 } = {}) {
    const listen = (listener: ChannelListener) => {
      this.made++;
      this.listener = listener;
      listener.opened();
      return Promise.resolve(() => void this.ended++);
    };
    const notify = (payload: string) => {
      this.sent = payload;
      if (this.fate === "lost") return Promise.resolve();
      this.listener!.notified(payload);
      if (this.fate === "connection lost behind it") queueMicrotask(this.listener!.lost);
      return Promise.resolve();
    };
    this.notifications = new Notifications(listen, notify, this.clock, lingers);
  }

  /** Reads the document, as the engine does before it watches. */
  read(version: string = OLD): void {
    this.notifications.got("a", version, this.notifications.asks("a"));
  }

  /** Watches, and tells what has become of that. */
  async watch(): Promise<{ outcome: "watches" | "reads again" | "fails"; end: () => Promise<void> }> {
    const scope = new AbortController();
    const found: { outcome: "watches" | "reads again" | "fails"; end: () => Promise<void> } = {
      outcome: "watches",
      end: async () => {
        scope.abort();
        await watching;
      },
    };
    const watching = this.notifications.watch("a", OLD, scope.signal, "mine").then(
      () => void (found.outcome = "reads again"),
      () => void (found.outcome = "fails"),
    );
    await this.clock.advance(0);
    return found;
  }

  /** Opens the connection, which the first watch does. */
  async open(): Promise<void> {
    this.read();
    const { end } = await this.watch();
    await end();
    this.read();
  }
}

Deno.test("watch() ends at the notification of another version, and not at that of its own", async () => {
  const fixture = new Fixture();
  await fixture.open();
  const watch = await fixture.watch();
  fixture.listener!.notified(`a:${OLD}`);
  fixture.listener!.notified(`b:${NEW}`);
  await fixture.clock.advance(0);
  assertEquals(watch.outcome, "watches");
  fixture.listener!.notified(`a:${NEW}`);
  await fixture.clock.advance(0);
  assertEquals(watch.outcome, "reads again");
});

Deno.test("watch() ends at the turn of its store, or when that of another may be over", async () => {
  const fixture = new Fixture();
  await fixture.open();
  const watch = await fixture.watch();
  fixture.listener!.notified(`a:${NEW}:other`);
  await fixture.clock.advance(1_499);
  fixture.listener!.notified(`a:${"3".repeat(32)}:another`);
  await fixture.clock.advance(1_499);
  assertEquals(watch.outcome, "watches");
  await fixture.clock.advance(1);
  assertEquals(watch.outcome, "reads again");
  fixture.read();
  const next = await fixture.watch();
  fixture.listener!.notified(`a:${NEW}:other`);
  fixture.listener!.notified(`a:${"3".repeat(32)}:mine`);
  await fixture.clock.advance(0);
  assertEquals(next.outcome, "reads again");
  await fixture.clock.advance(1_000);
  assertEquals(fixture.clock.pending, 0);
});

Deno.test("watch() does not trust a connection that was lost while its probe was under way", async () => {
  const fixture = new Fixture();
  fixture.fate = "connection lost behind it";
  await fixture.open();
  fixture.fate = "arrives";
  const watch = await fixture.watch();
  assertEquals([watch.outcome, fixture.made], ["reads again", 2], "it listens anew");
});

Deno.test("watch() reads again when notifications may have been lost since the read", async () => {
  const fixture = new Fixture();
  await fixture.open();
  fixture.listener!.opened(); // The client has connected anew: what came between is lost.
  const watch = await fixture.watch();
  assertEquals(watch.outcome, "reads again");
  fixture.read();
  const after = await fixture.watch();
  assertEquals(after.outcome, "watches");
  await after.end();
});

Deno.test("watch() is woken by a gap", async () => {
  const fixture = new Fixture();
  await fixture.open();
  const watch = await fixture.watch();
  fixture.listener!.opened();
  await fixture.clock.advance(0);
  assertEquals(watch.outcome, "reads again");
});

Deno.test("watch() reads again when a notification has come while the read was under way", async () => {
  const fixture = new Fixture();
  await fixture.open();
  const at = fixture.notifications.asks("a");
  fixture.listener!.notified(`a:${NEW}`);
  fixture.notifications.got("a", OLD, at);
  assertEquals((await fixture.watch()).outcome, "reads again");
});

Deno.test("watch() ends when its connection is lost, and the next one listens anew", async () => {
  const fixture = new Fixture();
  await fixture.open();
  const watch = await fixture.watch();
  fixture.listener!.lost();
  await fixture.clock.advance(0);
  assertEquals([watch.outcome, fixture.ended], ["reads again", 1]);
  await fixture.open();
  assertEquals(fixture.made, 2);
});

Deno.test("watch() keeps the connection while somebody watches, and a while longer", async () => {
  const fixture = new Fixture();
  await fixture.open();
  const first = await fixture.watch();
  await first.end();
  await fixture.clock.advance(500);
  const second = await fixture.watch();
  await fixture.clock.advance(4_000);
  assertEquals([second.outcome, fixture.ended], ["watches", 0]);
  await second.end();
  await fixture.clock.advance(999);
  assertEquals(fixture.ended, 0);
  await fixture.clock.advance(1);
  assertEquals(fixture.ended, 1);
});

Deno.test("watch() leaves no connection open over which nobody watches after all", async () => {
  const fixture = new Fixture();
  // What is read when it is open says that it is the waiter's turn.
  await fixture.open();
  assertEquals([fixture.made, fixture.ended], [1, 0]);
  await fixture.clock.advance(1_000);
  assertEquals(fixture.ended, 1);
  fixture.read();
  const watch = await fixture.watch();
  assertEquals([watch.outcome, fixture.made], ["reads again", 2], "nobody trusts the one that was closed");
});

/** A connection that was silent for so long that a watch sends a probe, which has not arrived. */
async function silent() {
  const fixture = new Fixture({ lingers: 100_000 });
  await fixture.open();
  await fixture.clock.advance(31_000);
  fixture.read();
  fixture.fate = "lost";
  const watch = await fixture.watch();
  return { fixture, watch };
}

Deno.test("watch() notices a connection that has become silent", async () => {
  const { fixture, watch } = await silent();
  await fixture.clock.advance(1_999);
  assertEquals(watch.outcome, "watches");
  await fixture.clock.advance(1);
  assertEquals([watch.outcome, fixture.ended], ["reads again", 1]);
});

Deno.test("watch() keeps a connection whose probe arrives behind a late timer", async () => {
  const { fixture, watch } = await silent();
  fixture.clock.stall(10_000);
  await fixture.clock.advance(999);
  fixture.listener!.notified(fixture.sent);
  await fixture.clock.advance(1_001);
  assertEquals([watch.outcome, fixture.ended], ["watches", 0]);
  await watch.end();
});

Deno.test("watch() fails for a minute when no probe arrives, and then tries again", async () => {
  const fixture = new Fixture();
  fixture.fate = "lost";
  fixture.read();
  const watch = await fixture.watch();
  await fixture.clock.advance(2_000);
  assertEquals([watch.outcome, fixture.ended], ["reads again", 1]);
  const signal = new AbortController().signal;
  await assertRejects(() => fixture.notifications.watch("a", OLD, signal), Error, "no notification comes");
  await fixture.clock.advance(60_000);
  fixture.fate = "arrives";
  await fixture.open();
  assert(fixture.made === 2);
  const later = await fixture.watch();
  assertEquals(later.outcome, "watches");
  await later.end();
});
