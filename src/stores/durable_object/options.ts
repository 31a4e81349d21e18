import type { Observer } from "../../contract/events.ts";
import { checkKeys, checkObserver, show } from "../../internal/validation.ts";

/** The part of a `DurableObjectStub` that the store uses. */
export interface LockStub {
  /** Sends a request to the object. */
  fetch(
    url: string,
    init: { method: "POST"; body: string; signal?: AbortSignal },
  ): Promise<{ readonly status: number; text(): Promise<string> }>;
}

/** The part of a `DurableObjectNamespace`, the binding of a class of Durable Objects, that the store uses. */
export interface LockNamespace {
  /** Returns the id of the object with a name. */
  idFromName(name: string): unknown;
  /** Returns a stub that sends requests to an object. */
  get(id: unknown): LockStub;
}

/** Options of `durableObject()`. */
export interface DurableObjectOptions {
  /** Called with the events of the locks of this store. */
  observer?: Observer | undefined;
}

/** Checks the binding and the options, and returns the observer. */
export function checkDurableObjectOptions(
  namespace: LockNamespace,
  options: DurableObjectOptions,
): Observer | undefined {
  if (typeof namespace?.idFromName !== "function" || typeof namespace.get !== "function") {
    const hint = namespace === undefined ? ". Is it in durable_objects of the Worker's configuration?" : "";
    throw new TypeError(`namespace must be the binding of a class of Durable Objects: got ${show(namespace)}${hint}`);
  }
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return observer;
}
