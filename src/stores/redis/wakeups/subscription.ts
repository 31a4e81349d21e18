import type { Clock, Timer } from "../../../time/clock.ts";
import { POLL_MS } from "../constants.ts";
import type { MessageListener, RedisPort, SecondConnection, Subscribe } from "../clients/port.ts";
import { explain } from "../refusals/server_error.ts";

/** The pause after the first failure, in milliseconds; each further failure in a row adds as much. */
const PAUSE_MS = 50;

/** The longest pause between two tries to connect, in milliseconds. */
const MAX_PAUSE_MS = 1_000;

export interface SubscriptionListener {
  /** Returns whether messages are needed; if not, no further try is made to connect. */
  wanted(): boolean;
  opened(): void;
  closed(): void;
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

type State =
  | { readonly phase: "closed" }
  /** After a failure: the next try is made when the timer ends. */
  | { readonly phase: "pausing"; readonly timer: Timer }
  | { readonly phase: "connecting"; readonly connection: SecondConnection }
  | Open;

const CLOSED: State = { phase: "closed" };

/**
 * The subscription of a client to some channels, over a second connection that is made in the background. Its failures
 * are no errors. While it is down it is made again, with pauses, for as long as messages are needed. It exists only
 * while the client itself is connected: so it cannot outlive the client or stay with a server that the client has left.
 * It does not keep the process alive.
 */
export class Subscription {
  readonly #port: RedisPort;
  readonly #channels: readonly string[];
  readonly #listener: SubscriptionListener;
  readonly #clock: Clock;
  #state: State = CLOSED;
  #candidates: Subscribe[] = [];
  #refusal: string | undefined;
  /** How many tries have failed in a row. */
  #failures = 0;
  /** When the next try may be made, by the monotonic clock. */
  #notBefore = -Infinity;

  /** Creates a subscription. Does nothing before {@linkcode start}. */
  constructor(port: RedisPort, channels: readonly string[], listener: SubscriptionListener, clock: Clock) {
    this.#port = port;
    this.#channels = channels;
    this.#listener = listener;
    this.#clock = clock;
    port.connection.listen({
      ready: () => this.#resume(),
      down: () => this.#close(),
      closed: () => this.#close(),
    });
  }

  /** Whether messages arrive, as far as known. */
  get open(): boolean {
    return this.#state.phase === "open";
  }

  /** Why the server has refused the last subscription; `undefined` when it has accepted it. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Makes the second connection, unless there is one, a pause goes on, or the client is not connected. */
  start(): void {
    if (this.#state.phase !== "closed") return;
    if (this.#port.state !== "ready" || this.#port.subscribers === undefined) return;
    const left = this.#notBefore - this.#clock.now().monotonic;
    if (left <= 0) return this.#connect();
    const timer = this.#clock.timer(left, () => {
      this.#state = CLOSED;
      this.#resume();
    });
    this.#state = { phase: "pausing", timer };
  }

  /** Closes the second connection, and makes no other, if no messages are needed. */
  closeUnlessWanted(): void {
    if (!this.#listener.wanted()) this.#close();
  }

  /** Asks the server for a sign of life, unless a message came: a connection that only receives notices no end. */
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
      refused: ({ message }) => uses() && this.#fail(explain(this.#port, message).message),
      ended: () => uses() && this.#fail(),
    });
    const uses = () => "connection" in this.#state && this.#state.connection === connection;
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

  /** Closes the connection, and makes the next connection after a pause. */
  #fail(refusal?: string): void {
    const state = this.#state;
    const now = this.#clock.now().monotonic;
    if (refusal === undefined) {
      // A connection that is always lost as soon as it is made must not be made without pauses.
      if (state.phase === "open" && now - state.since > MAX_PAUSE_MS) this.#failures = 0;
      this.#failures++;
    }
    const pause = refusal === undefined ? Math.min(this.#failures * PAUSE_MS, MAX_PAUSE_MS) : POLL_MS;
    this.#notBefore = now + pause;
    this.#refusal = refusal;
    // Before the waiters are woken: afterwards none of them waits.
    const wanted = this.#listener.wanted();
    this.#close();
    if (wanted) this.start();
  }

  /** Ends a pause, too; the next try still respects it. */
  #close(): void {
    const state = this.#state;
    this.#state = CLOSED;
    if (state.phase === "pausing") state.timer.cancel();
    if (!("connection" in state)) return;
    state.connection.close();
    if (state.phase === "open") this.#listener.closed();
  }
}
