import { portOf } from "../../../../src/stores/redis/clients/port_of.ts";
import { POLL_MS } from "../../../../src/stores/redis/constants.ts";
import { Subscription } from "../../../../src/stores/redis/wakeups/subscription.ts";
import { settled, VirtualClock } from "../../../support/virtual_clock.ts";
import { FakeClient, type FakeSubscriber } from "../fake_client.ts";

/** A subscription of a fake client, and what it has reported. */
export class SubscriptionFixture {
  readonly clock = new VirtualClock();
  readonly client = new FakeClient();
  readonly log: string[] = [];
  wanted = true;
  /** Whether anybody still needs messages after a report that it has closed. */
  wantedOnceClosed = true;
  readonly subscription: Subscription;

  constructor(prepare: (client: FakeClient) => void = () => {}) {
    prepare(this.client);
    const listener = {
      wanted: () => this.wanted,
      opened: () => void this.log.push("opened"),
      closed: () => {
        this.log.push("closed");
        this.wanted &&= this.wantedOnceClosed;
      },
      message: (channel: string, message: string) => void this.log.push(`${channel}: ${message}`),
    };
    this.subscription = new Subscription(portOf(this.client.client), ["first", "second"], listener, this.clock);
  }

  /** What the connections that were made so far are connections to. */
  get made(): string[] {
    return this.client.subscribers.map(({ of }) => of);
  }

  /** Has the last connection made and subscribed. */
  async open(subscriber: FakeSubscriber = this.client.subscriber): Promise<FakeSubscriber> {
    subscriber.status = "ready";
    subscriber.emit("ready");
    subscriber.sent.at(-1)!.resolve(2);
    await settled();
    return subscriber;
  }

  /** Advances the clock until the next connection is made; returns after how many milliseconds. */
  async pause(): Promise<number> {
    const before = this.made.length;
    for (let ms = 0; ms <= 2 * POLL_MS; ms++) {
      if (this.made.length > before) return ms;
      await this.clock.advance(1);
    }
    throw new Error("no connection is made");
  }
}
