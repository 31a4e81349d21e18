/**
 * Throws unless a property is read from the store itself. Every caller of a store reads its `drift`: there a `Proxy` is
 * refused that would call the methods on itself, where they find no private fields.
 */
export function checkReceiver(isStore: boolean): void {
  if (isStore) return;
  throw new TypeError(
    "store must be a store, or a Proxy whose get() binds each method to the store: got a Proxy that does not",
  );
}

/** Throws if a client fails in a method that sends nothing: a `Proxy` with unbound methods fails in each request. */
export function checkClientReceiver(wanted: string, probe: () => unknown): void {
  try {
    probe();
  } catch (cause) {
    throw new TypeError(`${wanted}: got a Proxy whose get() does not bind the methods to it`, { cause });
  }
}
