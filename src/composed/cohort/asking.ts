import type { Instant } from "../../internal/clock.ts";
import { checkMeta } from "../../internal/meta.ts";
import type { Claim } from "../../store.ts";
import { type Answer, Ask, type Asker, type Refusal } from "./ask.ts";
import { busy, type GlobalHold } from "./global_hold.ts";
import type { LocalQueue, LocalWaiter } from "./local_queue.ts";
import type { Site } from "./site.ts";

/** How many fences are reserved for each millisecond of `keep`, and at most: what stores reserve. */
const FENCES_PER_MS = 1_000;
const MAX_FENCES = 10_000;

/** Whoever is told how the store has answered. */
export interface AskingUser {
  /** The lock was granted. */
  won(ask: Ask, answer: Answer & { kind: "granted" }): GlobalHold;
  /** It is for whoever is first. */
  handOut(hold: GlobalHold): void;
  /** The store failed. */
  failed(error: unknown): void;
}

/** The one ask, at most, that is made for all that wait in the local queue of a name. */
export class Asking implements Asker {
  revocations = 0;
  readonly #site: Site;
  readonly #name: string;
  readonly #queue: LocalQueue;
  readonly #user: AskingUser;
  #ask: Ask | undefined;

  /** Begins without an ask. */
  constructor(site: Site, name: string, queue: LocalQueue, user: AskingUser) {
    this.#site = site;
    this.#name = name;
    this.#queue = queue;
    this.#user = user;
  }

  /** The id under which the store is asked at present. */
  get id(): string | undefined {
    return this.#ask?.claim.owner;
  }

  /** Whether the store lists that id as a waiter, as far as is known. */
  get isQueued(): boolean {
    return this.#ask?.queued === true;
  }

  /** Makes the ask if there is none, and has it run, from this moment on. */
  begin(first: LocalWaiter, now: Instant): Ask {
    const ask = this.#ask ??= new Ask(this.#site, this.#claim(first), this);
    if (!ask.running) void ask.run(now);
    return ask;
  }

  /** Resolves to the store's answer, and to `undefined` if somebody was granted the lock. */
  async answerFor(waiter: LocalWaiter, now: Instant): Promise<Refusal | undefined> {
    const ask = this.begin(waiter, now);
    // The answer may never come, although the store answers others.
    if (ask.isOverdue(now)) void ask.request(now);
    const { awaited } = ask;
    if (awaited === undefined) return busy(undefined);
    waiter.attempting++;
    const answer = await awaited;
    waiter.attempting--;
    waiter.asked = ask.hold?.since ?? this.#site.clock.now();
    if (answer.kind === "fault") throw answer.error;
    if (answer.kind === "granted") return undefined;
    if (!("conflict" in answer.refusal)) return busy(undefined);
    this.#queue.delete(waiter);
    return answer.refusal;
  }

  /** Asks once for a handle that does not wait: under an id of its own, which nobody else waits for. */
  async once(waiter: LocalWaiter, now: Instant): Promise<Refusal | GlobalHold> {
    const ask = new Ask(this.#site, this.#claim(waiter), this);
    const sent = ask.send(false, now);
    this.#site.track(sent);
    const answer = await sent;
    if (answer.kind === "granted") return this.#user.won(ask, answer);
    if (answer.kind === "refused") return answer.refusal;
    this.#site.track(ask.end().catch(() => {}));
    throw answer.error;
  }

  /** Ends the ask, if there is one. Resolves once it has left the store. */
  end(): Promise<void> {
    const ended = this.#ask?.end() ?? Promise.resolve();
    this.#ask = undefined;
    this.#site.track(ended.catch(() => {}));
    return ended;
  }

  /** Ends the ask, if there is one, in the background. */
  drop(): void {
    if (this.#ask !== undefined) this.end().catch(() => {});
  }

  answered(ask: Ask, answer: Answer): void {
    switch (answer.kind) {
      case "granted":
        if (this.#ask === ask) this.#ask = undefined;
        this.#user.handOut(this.#user.won(ask, answer));
        break;
      case "refused":
        if (!("conflict" in answer.refusal)) break;
        this.drop();
        for (const waiter of this.#queue) waiter.wake();
        break;
      case "fault":
        this.#user.failed(answer.error);
    }
  }

  wants(ask: Ask): boolean {
    const wanted = this.#queue.first(this.#site.clock.now()) !== undefined;
    if (!wanted && this.#ask === ask) this.drop();
    return wanted;
  }

  #claim({ claim: { lease, meta } }: LocalWaiter): Claim {
    const fences = Math.min(Math.ceil(this.#site.settings.keep * FENCES_PER_MS), MAX_FENCES);
    // The lock is for several handles: only what describes the process is right for all of them.
    const described = meta === undefined ? undefined : checkMeta(undefined);
    return { name: this.#name, owner: this.#site.ids.next(), mode: "exclusive", lease, fences, meta: described };
  }
}
