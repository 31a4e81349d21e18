import type { RedisClient } from "@holdfast/lock";
import { Wakeups } from "../../../../src/stores/redis/wakeups/wakeups.ts";
import { tested } from "../tested.ts";
import { until } from "../../../support/until.ts";

/** Makes the second connections of clients, and resolves when wake-ups arrive over each of them. */
export async function subscribed(...clients: RedisClient[]): Promise<void> {
  for (const client of clients) {
    const wakeups = Wakeups.of(tested(client));
    if (wakeups.port.subscribers === undefined) continue; // It polls.
    await until(() => {
      wakeups.subscription.start(); // The client itself may not be connected yet.
      return Promise.resolve(wakeups.subscription.open);
    }, "wake-ups arrive");
  }
}
