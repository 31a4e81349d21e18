import { assertEquals } from "@std/assert";
import type { LockEvent } from "@holdfast/lock";
import { portOf } from "../../../src/stores/redis/clients/port_of.ts";
import { Warnings } from "../../../src/stores/redis/warnings.ts";
import { claimOf } from "../../support/claims.ts";
import { FakeClient } from "./fake_client.ts";

Deno.test("Warnings.check() warns of the client's options once, and once of each refusal", () => {
  for (const [maxRetriesPerRequest, options] of [[null, 1], [20, 0]] as const) {
    const client = new FakeClient();
    Object.assign(client, { options: { maxRetriesPerRequest } });
    const subscription: { refusal: string | undefined } = { refusal: undefined };
    const events: LockEvent[] = [];
    const runner: { unsent: string | undefined } = { unsent: undefined };
    const warnings = new Warnings(portOf(client.client), subscription, runner, (event) => events.push(event));
    const [claim, other] = [claimOf("a"), claimOf("b")];
    const messages = () => events.map((event) => "message" in event ? event.message : "");
    for (let i = 0; i < 2; i++) warnings.check(claim);
    assertEquals(messages().map((message) => /maxRetriesPerRequest: null/.test(message)), Array(options).fill(true));
    subscription.refusal = "the user may not";
    for (let i = 0; i < 2; i++) warnings.check(other);
    subscription.refusal = undefined;
    runner.unsent = "it may not either";
    for (let i = 0; i < 2; i++) warnings.check(other);
    assertEquals(messages().slice(options), [
      "Waiters ask again and again, since the server refuses to wake them: the user may not",
      "Waiters and revoked holders notice late, since the server refuses to notify them: it may not either",
    ]);
    // A client may have no word for a refusal.
    const wordless = new Warnings(portOf(client.client), { refusal: "" }, runner, (event) => events.push(event));
    wordless.check(claim);
    assertEquals(messages().at(-2), "Waiters ask again and again, since the server refuses to wake them: ");
    const { type, name, owner } = events[options + 1]!;
    assertEquals([type, name, owner], ["warning", "b", other.owner]);
  }
});
