import type { Clock } from "../../../internal/time/clock.ts";
import type { MessageListener, RedisPort, SecondConnection, Subscribe } from "../clients/port.ts";
import { rightsOf } from "../refusals/rights.ts";
import { explain } from "../refusals/server_error.ts";
import { Reconnects } from "./reconnects.ts";

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
  readonly connection: SecondConnection;
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
  | { readonly phase: "connecting"; readonly connection: SecondConnection }
  | Open;

const CLOSED: State = { phase: "closed" };

/**
 * The subscription of a client to some channels, over a second connection that is made in the background. No failure of
 * it is an error. While it is down it is made again, with pauses, for as long as somebody needs messages. It exists only
 * while the client itself is connected: so it cannot outlive the client, and cannot stay with a server that the client
 * has left. It does not keep the process alive.
 */
export class Subscription {
  readonly #port: RedisPort;
  readonly #channels: readonly string[];
  readonly #listener: SubscriptionListener;
  readonly #clock: Clock;
  readonly #reconnects: Reconnects;
  #state: State = CLOSED;
  /** The connections that can be tried next. */
  #candidates: Subscribe[] = [];
  #refusal: string | undefined;

  /** Does nothing before {@linkcode start}. */
  constructor(port: RedisPort, channels: readonly string[], listener: SubscriptionListener, clock: Clock) {
    this.#port = port;
    this.#channels = channels;
    this.#listener = listener;
    this.#clock = clock;
    this.#reconnects = new Reconnects(clock);
    port.connection.listen({
      ready: () => this.#resume(),
      down: () => this.#stop(),
      closed: () => this.#stop(),
    });
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
   * itself is not connected, or if it cannot subscribe.
   */
  start(): void {
    if (this.#state.phase !== "closed" || this.#reconnects.pausing) return;
    if (this.#port.state !== "ready" || this.#port.subscribers === undefined) return;
    if (!this.#reconnects.pause(() => this.#resume())) this.#connect();
  }

  /** Closes the second connection, and makes no other one, if nobody needs messages. */
  closeUnlessWanted(): void {
    if (!this.#listener.wanted()) this.#stop();
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
    if (state.probing) return;
    state.probing = true;
    state.connection.probe().catch((error: unknown) => {
      if (this.#state === state && !this.#port.isReply(error)) this.#fail();
    }).finally(() => state.probing = false);
  }

  #resume(): void {
    if (this.#listener.wanted()) this.start();
  }

  #connect(): void {
    const connection = this.#make({
      opened: () => uses() && this.#open(connection!),
      message: (channel, message) => {
        if (!uses()) return;
        if (this.#state.phase === "open") this.#state.received = true;
        this.#listener.message(channel, message);
      },
      refused: ({ message }) => uses() && this.#fail(explain(message, rightsOf(this.#port.user)).message),
      ended: () => uses() && this.#fail(),
    });
    const uses = () => this.#state.phase !== "closed" && this.#state.connection === connection;
    if (connection === undefined) return this.#fail();
    this.#state = { phase: "connecting", connection };
  }

  /** Makes the next connection; `undefined` when that fails, or a Cluster client knows no node. */
  #make(listener: MessageListener): SecondConnection | undefined {
    try {
      if (this.#candidates.length === 0) this.#candidates = [...this.#port.subscribers!()];
      return this.#candidates.shift()?.(this.#channels, listener);
    } catch {
      return undefined; // Without the connection waiters poll: no reason to fail their calls.
    }
  }

  #open(connection: SecondConnection): void {
    const since = this.#clock.now().monotonic;
    this.#state = { phase: "open", connection, since, received: true, probing: false };
    this.#refusal = undefined;
    this.#candidates = [];
    this.#listener.opened();
  }

  /** Closes the connection, and has the next one made after a pause. */
  #fail(refusal?: string): void {
    if (refusal === undefined) this.#reconnects.failed(this.#state.phase === "open" ? this.#state.since : undefined);
    else this.#reconnects.refused();
    this.#refusal = refusal;
    // Before the waiters are woken: afterwards none of them waits.
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
    state.connection.close();
    if (state.phase === "open") this.#listener.closed();
  }
}
