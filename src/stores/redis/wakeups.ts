import { SystemClock, type Timer } from "../../_clock.ts";
import type { RedisClient, RedisSubscriber } from "./client.ts";
import { Evictions } from "./evictions.ts";
import { CLAIM, EVICTED, NEXT, PROVABLE, TURN, UNPROVABLE } from "./scripts.ts";
import { subscribers } from "./subscriber.ts";
import { rejectUnanswered } from "./unanswered.ts";

/** One owner that waits for its turn. */
interface Waiter {
  /** Its place in the queue, as the server gave it; it stays its own while the server forgets it. */
  ticket: string;
  /** Whether a wake-up came that nobody has heard yet. */
  woken: boolean;
  /** When it last asked, by the monotonic clock. */
  seen: number;
  /** Hears the next wake-up. */
  wake: ((kind: typeof TURN | typeof NEXT) => void) | undefined;
}

/** The longest pause between two tries to connect again, in milliseconds; waiters are polled meanwhile. */
const MAX_RETRY = 1_000;

/** The wake-ups of each client: one channel and one connection, however many stores use it. */
const wakeups = new WeakMap<RedisClient, Wakeups>();

/**
 * Hears over Pub/Sub when it is a waiter's turn, and when a hold is taken away. Its connection is made at the first
 * contended wait, or when somebody wants to hear of the latter, and closed with the client that it was made from; it
 * does not keep the process alive. Owners are told apart by the ids of their handles.
 */
export class Wakeups {
  readonly #client: RedisClient;
  readonly #channel = `holdfast:${crypto.randomUUID()}`;
  readonly #clock = new SystemClock();
  readonly #waiters = new Map<string, Waiter>();
  readonly #evictions = new Evictions();
  #subscriber: RedisSubscriber | undefined;
  #subscribing: Promise<void> | undefined;
  #subscribed = false;
  /** Whether the subscription is up, as far as is known. */
  #hearing = false;
  /** Whether a message has come since a waiter last asked. */
  #heard = false;
  /** Whether the other end is being asked whether it is there. */
  #probing = false;
  #cuts = 0;

  private constructor(client: RedisClient) {
    this.#client = client;
    client.on("end", () => {
      rejectUnanswered(client);
      this.#close();
    });
    const count = () => void this.#cuts++;
    if (client.isCluster) {
      // It loses its nodes one by one, and sends again what they have not answered.
      client.on("+node", (node) => node.on("close", count));
      for (const node of client.nodes?.() ?? []) node.on("close", count);
    } else {
      client.on("close", () => {
        count();
        this.#follow();
      });
    }
  }

  /** The wake-ups of a client. */
  static of(client: RedisClient): Wakeups {
    const known = wakeups.get(client) ?? new Wakeups(client);
    wakeups.set(client, known);
    return known;
  }

  /** How the server reaches the waiters of this client. */
  get reach(): string {
    // In a Cluster PUBLISH counts only the listeners of one node.
    // Who is cut off just now is not dead.
    return (this.#client.isCluster || !this.#hearing ? UNPROVABLE : PROVABLE) + this.#channel;
  }

  /** How often a connection of the client was cut. A client sends again what was not answered, without a word. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Whether messages arrive now. */
  get hearing(): boolean {
    return this.#hearing;
  }

  /** Whether messages arrive, or will again by themselves. */
  get subscribed(): boolean {
    return this.#subscribed;
  }

  /** Resolves when messages arrive. To be awaited before anybody queues: a client that hears nothing counts as dead. */
  subscribe(): Promise<void> {
    if (this.#subscribing !== undefined) return this.#subscribing;
    const subscribing = this.#subscribing = this.#open();
    subscribing.catch(() => {
      if (this.#subscribing === subscribing) this.#close();
    });
    return subscribing;
  }

  /** The ticket of an owner, empty when it has none yet. From here on its wake-ups are kept for it. */
  enter(owner: string): string {
    const waiter = this.#waiters.get(owner);
    const seen = this.#clock.now().monotonic;
    if (waiter === undefined) {
      this.#waiters.set(owner, { ticket: "", woken: false, wake: undefined, seen });
      return "";
    }
    waiter.seen = seen;
    this.#probe();
    return waiter.ticket;
  }

  /** Notes the ticket that an owner was given. */
  keep(owner: string, ticket: string): void {
    const waiter = this.#waiters.get(owner);
    // The server gives none to a waiter that it has dropped and that asked without queueing: it has its own still.
    if (waiter !== undefined && ticket !== "") waiter.ticket = ticket;
  }

  /** Forgets an owner. */
  leave(owner: string): void {
    // Mostly nobody waits, and looking for a name that is not there takes its time.
    if (this.#waiters.size > 0) this.#waiters.delete(owner);
  }

  /** Resolves when it is the owner's turn or, `standby` milliseconds after it became the next one, perhaps is. */
  wait(owner: string, standby: number, signal: AbortSignal): Promise<void> {
    const waiter = this.#waiters.get(owner);
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = () => {
        timer?.cancel();
        signal.removeEventListener("abort", done);
        if (waiter !== undefined) waiter.wake = undefined;
        resolve();
      };
      if (signal.aborted || waiter?.woken) {
        if (waiter !== undefined) waiter.woken = false;
        return done();
      }
      signal.addEventListener("abort", done);
      if (waiter === undefined) return;
      waiter.wake = (kind) => {
        if (kind === TURN) return done();
        timer?.cancel();
        timer = this.#clock.timer(standby, done);
      };
    });
  }

  /** Resolves when the hold is taken away, which `held` asks the server, or when the signal aborts. */
  evicted(hold: string, held: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const evicted = this.#evictions.wait(hold, held, signal);
    if (this.#subscribed) this.#evictions.check(hold); // It may have happened since the lock was granted.
    else this.subscribe().catch(() => {}); // And then they are all asked about.
    return evicted;
  }

  /** Listens over the first connection that works. */
  async #open(): Promise<void> {
    // A client that is closed between two connections does not tell: its second one must not go on for ever.
    const retry = (times: number) => {
      return this.#subscriber === subscriber && this.#wanted() ? Math.min(times * 50, MAX_RETRY) : null;
    };
    let subscriber: RedisSubscriber;
    const makes = subscribers(this.#client, retry);
    for (const make of makes) {
      try {
        subscriber = make();
        return await this.#listen(subscriber);
      } catch (error) {
        // What one node refuses, all do.
        if (isReply(error) || make === makes.at(-1) || this.#client.status === "end") throw error;
      }
    }
    throw new Error("the Cluster client knows no node");
  }

  /** Resolves when messages arrive over this connection; rejects when they never will. */
  #listen(subscriber: RedisSubscriber): Promise<void> {
    this.#subscriber = subscriber;
    let listened = false;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        if (listened && this.#subscriber === subscriber) this.#close();
        reject(error);
      };
      subscriber.on("error", () => {}); // The client reconnects; waiters poll meanwhile.
      subscriber.on("connect", () => subscriber.stream?.unref?.());
      subscriber.on("message", (channel, message) => {
        this.#heard = true;
        if (channel === this.#channel) this.#hear(message);
        else this.#evictions.hear(message);
      });
      subscriber.on("ready", () => {
        // Given up between two connections, when disconnect() does nothing for it.
        if (this.#subscriber !== subscriber) return subscriber.disconnect();
        subscriber.subscribe(this.#channel, EVICTED).then(() => {
          if (this.#subscriber !== subscriber) return;
          listened = this.#subscribed = this.#hearing = true;
          this.#wakeAll(); // Messages were lost while nobody listened.
          this.#evictions.check();
          resolve();
        }, (error: unknown) => {
          if (isReply(error)) fail(error);
          else renew(subscriber);
        });
      });
      subscriber.on("close", () => {
        if (this.#subscriber === subscriber) this.#deafen();
      });
      subscriber.on("end", () => fail(new Error("the connection for wake-ups was closed")));
    });
  }

  /** Whether anybody waits: asleep, or asking at this moment; not a waiter whose client will never answer it. */
  #wanted(): boolean {
    if (this.#evictions.size > 0) return true; // Their leases end, if nothing else.
    const now = this.#clock.now().monotonic;
    for (const { wake, seen } of this.#waiters.values()) if (wake !== undefined || now - seen < CLAIM) return true;
    return false;
  }

  /** Who only listens never notices that the other end is gone: a waiter that was not told anything has it asked. */
  #probe(): void {
    const subscriber = this.#subscriber;
    if (this.#hearing && !this.#heard && !this.#probing && subscriber !== undefined) {
      this.#probing = true;
      subscriber.subscribe(this.#channel).catch((error: unknown) => {
        if (!isReply(error)) renew(subscriber);
      }).finally(() => this.#probing = false);
    }
    this.#heard = false;
  }

  /**
   * The client was cut off, and may find another server behind the same address, or another master: the connection for
   * wake-ups must not stay with the old one, where nobody would be told anything while it looks alive.
   */
  #follow(): void {
    if (!this.#hearing || this.#subscriber === undefined) return;
    this.#deafen();
    renew(this.#subscriber);
  }

  /** From here on waiters ask as those whom nobody reaches, lest they be taken for dead. */
  #deafen(): void {
    this.#hearing = false;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const owner of this.#waiters.keys()) this.#hear(TURN + owner);
  }

  #hear(message: string): void {
    const waiter = this.#waiters.get(message.slice(1));
    const kind = message[0] === NEXT ? NEXT : TURN;
    if (waiter === undefined) return;
    if (waiter.wake !== undefined) waiter.wake(kind);
    else if (kind === TURN) waiter.woken = true;
  }

  #close(): void {
    // Without a connection ioredis's disconnect() leaves a timer; the next connection closes itself.
    const status = this.#subscriber?.status ?? "end";
    if (status !== "end" && status !== "reconnecting") this.#subscriber?.disconnect();
    this.#subscriber = undefined;
    this.#subscribing = undefined;
    this.#subscribed = this.#hearing = false;
    this.#wakeAll(); // They ask again, and find out how things are.
  }
}

/** Has a connection made anew, unless that is on its way: then it must not be disturbed. */
function renew(subscriber: RedisSubscriber): void {
  if (subscriber.status === "ready") subscriber.disconnect(true);
}

/** Whether the server has said so. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === "ReplyError";
}
