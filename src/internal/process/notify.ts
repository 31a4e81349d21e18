import type { EventSubject, LockEvent } from "../../events.ts";
import { type Claim, handleOf, type Store } from "../../store.ts";
import { diagnostics } from "./diagnostics.ts";

/** An event without its subject. */
type Occurrence<E = LockEvent> = E extends LockEvent ? Omit<E, keyof EventSubject> : never;

/**
 * Returns whether anybody is notified of the events of a store. Asked first where events are frequent, so that without
 * an observer none is made.
 */
export function isObserved({ observer }: Pick<Store, "observer">): boolean {
  return observer !== undefined || diagnostics()?.hasSubscribers === true;
}

/**
 * Notifies the observer of a store, and those who subscribe to the diagnostics channel, of what happened to the handle
 * of a claim. What the observer throws or rejects with is ignored. The channel reports what a subscriber throws as an
 * uncaught exception, as every channel does.
 */
export function notify({ observer }: Pick<Store, "observer">, claim: Claim, occurrence: Occurrence): void {
  const channel = diagnostics();
  const listening = channel?.hasSubscribers === true;
  if (observer === undefined && !listening) return;
  const { name, owner, mode, permits } = claim;
  const event = { name, owner, handle: handleOf(claim), mode, permits, ...occurrence } as LockEvent;
  try {
    const result: unknown = observer?.(event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // A broken observer must not cost anybody a lock.
  }
  if (listening) channel.publish(event);
}
