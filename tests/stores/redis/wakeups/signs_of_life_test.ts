import { assertEquals } from "@std/assert";
import { settled } from "../../../support/virtual_clock.ts";
import { replyError } from "../fake_client.ts";
import { SubscriptionFixture as Fixture } from "./subscription_fixture.ts";

Deno.test("Subscription.check() asks for a sign of life if nothing came since the last time", async () => {
  const fixture = new Fixture();
  fixture.subscription.check();
  fixture.subscription.start();
  fixture.subscription.check();
  assertEquals(fixture.client.subscriber.sent.length, 0, "not before it is open");
  const { sent } = await fixture.open();
  const asked = () => sent.slice(1).map(({ channels }) => channels);
  fixture.subscription.check();
  assertEquals(asked(), [], "it has just been opened");
  for (let i = 0; i < 2; i++) fixture.subscription.check();
  assertEquals(asked(), [["first"]], "once at a time");
  sent.at(-1)!.resolve(1);
  await settled();
  fixture.client.subscriber.emit("message", "first", "a");
  fixture.subscription.check();
  assertEquals(asked().length, 1, "a message has come");
  fixture.subscription.check();
  assertEquals(asked().length, 2, "and none since then");
});

Deno.test("Subscription.check() has a connection made anew that does not answer", async () => {
  for (const refused of [true, false]) {
    const fixture = new Fixture();
    fixture.subscription.start();
    const { sent } = await fixture.open();
    for (let i = 0; i < 2; i++) fixture.subscription.check();
    sent.at(-1)!.reject(refused ? replyError("NOPERM no") : new Error("Command timed out"));
    await settled();
    // A refusal is an answer.
    assertEquals(fixture.subscription.open, refused);
    assertEquals(fixture.clock.pending, refused ? 0 : 1);
    if (!refused) continue;
    fixture.subscription.check();
    assertEquals(sent.length, 3, "it is asked again");
    sent.at(-1)!.resolve(1);
    await settled();
  }
});

Deno.test("Subscription.check() that fails after its connection was left harms no other", async () => {
  for (const error of [new Error("cut"), replyError("NOPERM no")]) {
    const fixture = new Fixture();
    fixture.subscription.start();
    const { sent } = await fixture.open();
    for (let i = 0; i < 2; i++) fixture.subscription.check();
    fixture.client.emit("close");
    fixture.subscription.start();
    const current = await fixture.open();
    sent.at(-1)!.reject(error);
    await settled();
    assertEquals([fixture.subscription.open, current.disconnected], [true, 0]);
  }
});
