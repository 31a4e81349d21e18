import { assertEquals } from "@std/assert";
import type { LockEvent } from "@holdfast/lock";
import type { Wakeups } from "../../../src/stores/redis/wakeups/wakeups.ts";
import { portOf } from "../../../src/stores/redis/clients/port_of.ts";
import { Warnings } from "../../../src/stores/redis/warnings.ts";
import { claimOf } from "../../support/claims.ts";
import { FakeClient } from "./fake_client.ts";

Deno.test("Warnings.check() warns of the client's options once, and once of a refusal", () => {
  for (const [maxRetriesPerRequest, options] of [[null, 1], [20, 0]] as const) {
    const client = new FakeClient();
    Object.assign(client, { options: { maxRetriesPerRequest } });
    const wakeups: { refusal: string | undefined } = { refusal: undefined };
    const events: LockEvent[] = [];
    const warnings = new Warnings(portOf(client.client), wakeups as Wakeups, (event) => events.push(event));
    const [claim, other] = [claimOf("a"), claimOf("b")];
    const messages = () => events.map((event) => "message" in event ? event.message : "");
    for (let i = 0; i < 2; i++) warnings.check(claim);
    assertEquals(messages().map((message) => /maxRetriesPerRequest: null/.test(message)), Array(options).fill(true));
    wakeups.refusal = "the user may not";
    for (let i = 0; i < 2; i++) warnings.check(other);
    wakeups.refusal = undefined;
    warnings.check(claim);
    assertEquals(messages().slice(options), [
      "Waiters ask again and again, since the server refuses to wake them: the user may not",
    ]);
    const { type, name, owner } = events.at(-1)!;
    assertEquals([type, name, owner], ["warning", "b", other.owner]);
  }
});
