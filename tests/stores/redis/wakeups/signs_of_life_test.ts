import { assertEquals } from "@std/assert";
import { settled } from "../../../support/virtual_clock.ts";
import { replyError } from "../fake_client.ts";
import { SubscriptionSite as Site } from "./subscription_site.ts";

Deno.test("Subscription.check() asks for a sign of life if nothing came since the last time", async () => {
  const site = new Site();
  site.subscription.check();
  site.subscription.start();
  site.subscription.check();
  assertEquals(site.client.subscriber.sent.length, 0, "not before it is open");
  const { sent } = await site.open();
  const asked = () => sent.slice(1).map(({ channels }) => channels);
  site.subscription.check();
  assertEquals(asked(), [], "it has just been opened");
  for (let i = 0; i < 2; i++) site.subscription.check();
  assertEquals(asked(), [["first"]], "once at a time");
  sent.at(-1)!.resolve(1);
  await settled();
  site.client.subscriber.emit("message", "first", "a");
  site.subscription.check();
  assertEquals(asked().length, 1, "a message has come");
  site.subscription.check();
  assertEquals(asked().length, 2, "and none since then");
});

Deno.test("Subscription.check() has a connection made anew that does not answer", async () => {
  for (const refused of [true, false]) {
    const site = new Site();
    site.subscription.start();
    const { sent } = await site.open();
    for (let i = 0; i < 2; i++) site.subscription.check();
    sent.at(-1)!.reject(refused ? replyError("NOPERM no") : new Error("Command timed out"));
    await settled();
    // A refusal is an answer.
    assertEquals(site.subscription.open, refused);
    assertEquals(site.clock.pending, refused ? 0 : 1);
    if (!refused) continue;
    site.subscription.check();
    assertEquals(sent.length, 3, "it is asked again");
    sent.at(-1)!.resolve(1);
    await settled();
  }
});

Deno.test("Subscription.check() that fails after its connection was left harms no other", async () => {
  for (const error of [new Error("cut"), replyError("NOPERM no")]) {
    const site = new Site();
    site.subscription.start();
    const { sent } = await site.open();
    for (let i = 0; i < 2; i++) site.subscription.check();
    site.client.emit("close");
    site.subscription.start();
    const current = await site.open();
    sent.at(-1)!.reject(error);
    await settled();
    assertEquals([site.subscription.open, current.disconnected], [true, 0]);
  }
});
