import type { Clock } from "../../time/clock.ts";
import { type Claim, handleOf } from "../../contract/store.ts";
import { CasStore } from "../../engine/store.ts";
import { type ObjectReplies, replyWith, replyWithError } from "./reply.ts";
import { HOLD_MS, type ObjectRequest, parseRequest } from "./request.ts";
import { type LockObjectStorage, StoredDocuments } from "./storage.ts";

/** The settings of the engine for handles in other processes. */
const REMOTE = {
  // Whatever object of this name entered a waiter into the queue, this one looks after it.
  store: "object",
  // After a start, waiters whose connections have broken ask again.
  graceMs: 3_000,
  // A wait that is held open wakes them.
  retryAsleepMs: 60_000,
};

/** The part of a request to a Durable Object that is used. */
export interface LockObjectRequest {
  /** Aborts when the caller is gone, where the platform tells. */
  readonly signal?: AbortSignal | undefined;
  /** Returns the body. */
  text(): Promise<string>;
}

/** Answers the requests for the locks that are kept in one object. */
export class LockServer {
  readonly #clock: Clock;
  readonly #documents: StoredDocuments;
  readonly #store: CasStore;
  /** The functions that end the open waits, by the kind of wait and the handle. */
  readonly #held = new Map<string, AbortController>();

  constructor(storage: LockObjectStorage, clock: Clock) {
    this.#clock = clock;
    this.#documents = new StoredDocuments(storage, clock);
    const settings = { maxClockSkew: 0, observer: undefined, remote: REMOTE };
    this.#store = new CasStore(this.#documents, settings, clock);
  }

  /** Answers a request, given as text. Never rejects. */
  async fetch(request: LockObjectRequest): Promise<Response> {
    try {
      return replyWith(await this.#answer(parseRequest(await request.text()), request.signal));
    } catch (error) {
      return replyWithError(error);
    }
  }

  /** Ends leases that are over although no call comes, and deletes locks that have not been used for 7 days. */
  async alarm(): Promise<void> {
    for (const name of await this.#documents.names()) {
      await this.#store.look(name);
      await this.#documents.removeIfOld(name);
    }
    await this.#documents.finishAlarm();
  }

  async #answer(request: ObjectRequest, signal: AbortSignal | undefined): Promise<ObjectReplies[keyof ObjectReplies]> {
    if (request.do === "evict") return await this.#evict(request);
    const { claim } = request;
    if ("call" in request) {
      const handle = handleOf(claim);
      await this.#documents.load(claim.name);
      this.#accept(`${request.call.store} ${handle}`, request.call.number);
      for (const what of ["wait", "watch"]) this.#held.get(`${what} ${handle}`)?.abort(OVER);
    }
    switch (request.do) {
      case "attempt":
        return await this.#store.attempt(claim, request.options);
      case "release":
        return await this.#store.release(claim);
      case "succeed":
        await this.#store.succeed(claim, request.to);
        return null;
      case "renew":
        return await this.#store.renew(claim);
      case "wait":
        // One that an object before this one has known attempts, and is in the queue already.
        if (!this.#store.knows(claim)) return true;
        return await this.#hold("wait", claim, signal, (over) => this.#store.wakeup(claim, over)) !== OVER;
      case "watch": {
        const by = await this.#hold("watch", claim, signal, (over) => this.#store.revocation(claim, over));
        return by === OVER ? null : by ?? {};
      }
    }
  }

  async #evict({ name, call, options }: ObjectRequest & { readonly do: "evict" }): Promise<number> {
    await this.#documents.load(name);
    // Each is a caller of its own: two that cross are both executed, and none twice.
    this.#accept(`${call.store} evicts ${call.number}`, call.number);
    const { handle, fence, meta } = options;
    return await this.#store.evict(name, { handle, fence: fence === undefined ? undefined : BigInt(fence), meta });
  }

  /** Records a call. Throws if it, or a later call of its caller, has come before. */
  #accept(caller: string, number: number): void {
    if (!this.#documents.calls.accept(caller, number, this.#clock.now().wall)) {
      throw new Error("the call came again, or after a later one of the same handle, and was not executed");
    }
  }

  /** Holds a wait open. Resolves to {@linkcode OVER} when its time is over, or the caller no longer waits. */
  async #hold<T>(
    what: string,
    claim: Claim,
    signal: AbortSignal | undefined,
    wait: (over: AbortSignal) => Promise<T>,
  ): Promise<T | typeof OVER> {
    const key = `${what} ${handleOf(claim)}`;
    this.#held.get(key)?.abort(OVER);
    const controller = new AbortController();
    const end = () => controller.abort(OVER);
    this.#held.set(key, controller);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    const timer = this.#clock.timer(HOLD_MS, end);
    try {
      const result = await wait(controller.signal);
      return controller.signal.aborted ? OVER : result;
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", end);
      if (this.#held.get(key) === controller) this.#held.delete(key);
    }
  }
}

/** The result of a wait that has ended without its event. */
const OVER = Symbol("over");
