import type { Observer } from "../../contract/events.ts";
import { HandoffStore } from "../../handoff/handoff_store.ts";
import { HandoffPlace } from "../../handoff/place.ts";
import { checkEvict } from "../../internal/listing/eviction.ts";
import { readMeta } from "../../internal/process/meta.ts";
import { backoffMs, type Clock, SystemClock } from "../../time/clock.ts";
import { unlessAborted } from "../../time/wait_scope.ts";
import {
  type Attempt,
  type AttemptOptions,
  CAPABILITIES,
  type Claim,
  drift,
  type EvictOptions,
  type Meta,
  type Renewal,
  type Store,
} from "../../contract/store.ts";
import { checkDurableObjectOptions, type DurableObjectOptions, type LockNamespace } from "./options.ts";
import { failed, type ObjectReplies, parseAttempt, parseReply } from "./reply.ts";
import { formatRequest, HOLD_MS, type ObjectRequest } from "./request.ts";

/**
 * Returns a store that keeps the lock of each name in a Durable Object of its own. Make it in the request that uses it.
 *
 * While a waiter waits, or a holder that has read `lock.signal` holds the lock, a request to the object is held open,
 * for 20 s at a time: during that time the object stays in memory, and its duration is billed. There is no `query()`.
 *
 * @example
 * ```ts
 * import { tryAcquire } from "@holdfast/lock";
 * import { durableObject, type LockNamespace } from "@holdfast/lock/durable-object";
 *
 * export async function nightly(env: { LOCKS: LockNamespace }): Promise<void> {
 *   await using lock = await tryAcquire(durableObject(env.LOCKS), "nightly-report");
 *   if (lock !== null) console.log("writing the report");
 * }
 * ```
 *
 * @param namespace the binding of a class that is, or extends, `LockObject`
 * @param options an observer
 * @throws {TypeError} when `namespace` is no binding, or an option is unknown or of the wrong kind
 */
export function durableObject(namespace: LockNamespace, options: DurableObjectOptions = {}): Store {
  const observer = checkDurableObjectOptions(namespace, options);
  const clock = new SystemClock();
  const store = new DurableObjectStore(namespace, observer, clock);
  // Not of the binding: stores that were made in other requests must not be called in this one.
  return new HandoffStore(store, clock, undefined, new HandoffPlace(store));
}

/** The address of requests. Any address works: the binding selects the object. */
const URL = "https://lock.holdfast/";

/** How much longer than the object holds it open a wait may take for its answer, in milliseconds. */
const ANSWER_MS = 10_000;

/** The pauses after a failed wait, in milliseconds: the first and the longest, each times a random part. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export class DurableObjectStore implements Store {
  readonly drift = drift;
  readonly capabilities = CAPABILITIES.filter((capability) => capability !== "query");
  readonly observer: Observer | undefined;
  readonly #namespace: LockNamespace;
  readonly #clock: Clock;
  readonly #id = crypto.randomUUID().slice(0, 8);
  #calls = 0;
  #failures = 0;

  constructor(namespace: LockNamespace, observer: Observer | undefined, clock: Clock) {
    this.#namespace = namespace;
    this.observer = observer;
    this.#clock = clock;
  }

  async attempt(claim: Claim, { enqueue, steal = false }: AttemptOptions): Promise<Attempt> {
    const options = { enqueue, steal };
    return parseAttempt(await this.#ask(claim.name, { do: "attempt", claim, call: this.#call(), options }));
  }

  async renew(claim: Claim): Promise<Renewal> {
    return await this.#ask(claim.name, { do: "renew", claim });
  }

  async release(claim: Claim): Promise<boolean> {
    return await this.#ask(claim.name, { do: "release", claim, call: this.#call() });
  }

  async succeed(from: Claim, to: Claim): Promise<void> {
    await this.#ask(from.name, { do: "succeed", claim: from, call: this.#call(), to });
  }

  /** Does nothing: no state is kept here. */
  forget(_claim: Claim): void {}

  async evict(name: string, options?: EvictOptions): Promise<number> {
    const { handle, fence, meta } = checkEvict(options);
    const fields = { handle, fence: fence?.toString(), meta: readMeta(meta) ?? false as const };
    return await this.#ask(name, { do: "evict", name, call: this.#call(), options: fields });
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const isWoken = await this.#hold("wait", claim, signal);
        this.#failures = 0;
        if (isWoken) return;
      } catch {
        // It attempts, and finds the fault; or its place, in an object that was started anew.
        return await this.#pause(this.#failures++, signal);
      }
    }
  }

  async revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    for (let failures = 0; !signal.aborted;) {
      try {
        const by = await this.#hold("watch", claim, signal);
        failures = 0;
        if (by !== null) return by;
      } catch {
        // The renewals of the holder find out what is wrong.
        await this.#pause(failures++, signal);
      }
    }
  }

  /** Waits for a message of the object, for as long as the object holds the request open. */
  async #hold<What extends "wait" | "watch">(
    what: What,
    claim: Claim,
    signal: AbortSignal,
  ): Promise<ObjectReplies[What]> {
    const over = new AbortController();
    const end = () => over.abort("over");
    const limit = this.#clock.timer(HOLD_MS + ANSWER_MS, end);
    signal.addEventListener("abort", end);
    try {
      return await unlessAborted(this.#ask(claim.name, { do: what, claim }, over.signal), over.signal);
    } finally {
      limit.cancel();
      signal.removeEventListener("abort", end);
    }
  }

  async #pause(failures: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(Math.random() * backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), signal);
  }

  async #ask<Request extends ObjectRequest>(
    name: string,
    request: Request,
    signal?: AbortSignal,
  ): Promise<ObjectReplies[Request["do"]]> {
    const [status, text] = await this.#send(name, formatRequest(request), signal);
    return parseReply(request.do, status, text) as ObjectReplies[Request["do"]];
  }

  async #send(name: string, body: string, signal: AbortSignal | undefined): Promise<[status: number, text: string]> {
    try {
      // Not kept: one whose object has failed fails for good.
      const stub = this.#namespace.get(this.#namespace.idFromName(name));
      const response = await stub.fetch(URL, { method: "POST", body, ...signal === undefined ? {} : { signal } });
      return [response.status, await response.text()];
    } catch (error) {
      throw failed(error);
    }
  }

  #call(): { readonly store: string; readonly number: number } {
    return { store: this.#id, number: ++this.#calls };
  }
}
