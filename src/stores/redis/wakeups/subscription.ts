import type { Clock } from "../../../internal/time/clock.ts";
import type { RedisClient, RedisSubscriber } from "../clients/client.ts";
import { Reconnects } from "./reconnects.ts";
import { rightsOf, userOf } from "../refusals/rights.ts";
import { explain, isReply } from "../refusals/server_error.ts";
import { secondConnections } from "../clients/ioredis/second_connections.ts";

/** The callbacks of a subscription. */
export interface SubscriptionListener {
  /** Returns whether anybody needs messages; if nobody does, no further try is made to connect. */
  wanted(): boolean;
  /** Called when messages begin to arrive. */
  opened(): void;
  /** Called when messages stop arriving. */
  closed(): void;
  /** Called with each message. */
  message(channel: string, message: string): void;
}

/** Messages arrive over the second connection. */
interface Open {
  readonly phase: "open";
  readonly subscriber: RedisSubscriber;
  /** Since when they arrive, by the monotonic clock. */
  readonly since: number;
  /** Whether a message has arrived since the last check. */
  received: boolean;
  /** Whether the server is being asked for a sign of life. */
  probing: boolean;
}

/** Whether there is a second connection, and how far it is. */
type State =
  | { readonly phase: "closed" }
  | { readonly phase: "connecting"; readonly subscriber: RedisSubscriber }
  | Open;

const CLOSED: State = { phase: "closed" };

/**
 * The subscription of a client to some channels, over a second connection that is made in the background. No failure of
 * it is an error. While it is down it is made again, with pauses, for as long as somebody needs messages. It exists only
 * while the client itself is connected: so it cannot outlive the client, and cannot stay with a server that the client
 * has left. It does not keep the process alive.
 */
export class Subscription {
  readonly #client: RedisClient;
  readonly #channels: readonly string[];
  readonly #listener: SubscriptionListener;
  readonly #clock: Clock;
  readonly #reconnects: Reconnects;
  #state: State = CLOSED;
  /** The connections that can be tried next. */
  #candidates: (() => RedisSubscriber)[] = [];
  #refusal: string | undefined;

  /** Does nothing before {@linkcode start}. */
  constructor(client: RedisClient, channels: readonly string[], listener: SubscriptionListener, clock: Clock) {
    this.#client = client;
    this.#channels = channels;
    this.#listener = listener;
    this.#clock = clock;
    this.#reconnects = new Reconnects(clock);
    client.on("close", () => this.#stop());
    client.on("end", () => this.#stop());
    client.on("ready", () => this.#resume());
  }

  /** Whether messages arrive, as far as is known. */
  get open(): boolean {
    return this.#state.phase === "open";
  }

  /** Why the server has refused the last subscription; `undefined` when it has not. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /**
   * Makes the second connection, unless there is one already, or a pause has to end first. Does nothing while the client
   * itself is not connected.
   */
  start(): void {
    if (this.#state.phase !== "closed" || this.#reconnects.pausing) return;
    const { status = "ready" } = this.#client;
    if (status !== "ready") return;
    if (!this.#reconnects.pause(() => this.#resume())) this.#connect();
  }

  /**
   * Asks the server for a sign of life, unless a message has arrived since the last call: a connection that only
   * receives never notices that the other end is gone.
   */
  check(): void {
    const state = this.#state;
    if (state.phase !== "open") return;
    if (!state.received) this.#probe(state);
    state.received = false;
  }

  #probe(state: Open): void {
    const [channel] = this.#channels;
    if (state.probing || channel === undefined) return;
    state.probing = true;
    state.subscriber.subscribe(channel).catch((error: unknown) => {
      if (this.#state === state && !isReply(error)) this.#fail();
    }).finally(() => state.probing = false);
  }

  #resume(): void {
    if (this.#listener.wanted()) this.start();
  }

  #connect(): void {
    const subscriber = this.#make();
    if (subscriber === undefined) return this.#fail();
    this.#state = { phase: "connecting", subscriber };
    subscriber.on("error", () => {}); // The event "end" follows.
    subscriber.on("connect", () => subscriber.stream?.unref?.());
    subscriber.on("ready", () => this.#subscribe(subscriber));
    subscriber.on("message", (channel, message) => {
      if (!this.#uses(subscriber)) return;
      if (this.#state.phase === "open") this.#state.received = true;
      this.#listener.message(channel, message);
    });
    subscriber.on("end", () => {
      if (this.#uses(subscriber)) this.#fail();
    });
  }

  /** Makes the next connection; `undefined` when that fails, or a Cluster client knows no node. */
  #make(): RedisSubscriber | undefined {
    try {
      if (this.#candidates.length === 0) this.#candidates = secondConnections(this.#client);
      return this.#candidates.shift()?.();
    } catch {
      return undefined; // Without the connection waiters poll: no reason to fail their calls.
    }
  }

  #subscribe(subscriber: RedisSubscriber): void {
    if (!this.#uses(subscriber)) return;
    subscriber.subscribe(...this.#channels).then(() => {
      if (!this.#uses(subscriber)) return;
      const since = this.#clock.now().monotonic;
      this.#state = { phase: "open", subscriber, since, received: true, probing: false };
      this.#refusal = undefined;
      this.#candidates = [];
      this.#listener.opened();
    }, (error: unknown) => {
      if (!this.#uses(subscriber)) return;
      this.#fail(isReply(error) ? explain(error.message, rightsOf(userOf(this.#client))).message : undefined);
    });
  }

  #uses(subscriber: RedisSubscriber): boolean {
    return this.#state.phase !== "closed" && this.#state.subscriber === subscriber;
  }

  /** Closes the connection, and has the next one made after a pause. */
  #fail(refusal?: string): void {
    if (refusal === undefined) this.#reconnects.failed(this.#state.phase === "open" ? this.#state.since : undefined);
    else this.#reconnects.refused();
    this.#refusal = refusal;
    // Before the waiters are woken: then none of them waits any more.
    const wanted = this.#listener.wanted();
    this.#close();
    if (wanted) this.start();
  }

  #stop(): void {
    this.#reconnects.cancel();
    this.#close();
  }

  #close(): void {
    const state = this.#state;
    this.#state = CLOSED;
    if (state.phase === "closed") return;
    // ioredis's disconnect() leaves a timer when there is no connection.
    if ((state.subscriber.status ?? "end") !== "end") state.subscriber.disconnect();
    if (state.phase === "open") this.#listener.closed();
  }
}
