import type { EventSubject, LockEvent } from "../../contract/events.ts";
import { type Claim, handleOf, type Store } from "../../contract/store.ts";
import { toJson } from "../listing/inspectable.ts";
import { reason } from "../reason.ts";
import { diagnostics, warnOnce } from "./warning.ts";

/** An event without its subject. */
type Occurrence<E = LockEvent> = E extends LockEvent ? Omit<E, keyof EventSubject> : never;

const TO_JSON = {
  value(this: LockEvent): object {
    return toJson(this);
  },
};

/** Returns whether anybody is notified of a store's events. Called first: without an observer no event is made. */
export function isObserved({ observer }: Pick<Store, "observer">): boolean {
  return observer !== undefined || diagnostics()?.hasSubscribers === true;
}

/**
 * Notifies the observer of a store and the subscribers of the diagnostics channel of an event of a claim's handle.
 * Errors of the observer are ignored, but for one warning. The channel reports an error of a subscriber as an uncaught
 * exception, as every channel does.
 */
export function notify({ observer }: Pick<Store, "observer">, claim: Claim, occurrence: Occurrence): void {
  const channel = diagnostics();
  const listening = channel?.hasSubscribers === true;
  if (observer === undefined && !listening) return;
  const { name, owner, mode, permits } = claim;
  const event = { name, owner, handle: handleOf(claim), mode, permits, ...occurrence } as LockEvent;
  // Not enumerable: a copy has the event alone.
  Object.defineProperty(event, "toJSON", TO_JSON);
  try {
    const result: unknown = observer?.(event);
    if (result instanceof Promise) result.catch(warnOfObserver);
  } catch (error) {
    // A broken observer must not cost anybody a lock.
    warnOfObserver(error);
  }
  if (listening) channel.publish(event);
}

function warnOfObserver(error: unknown): void {
  warnOnce("observer", `The observer of a store has thrown, which is ignored: ${reason(error)}`);
}
