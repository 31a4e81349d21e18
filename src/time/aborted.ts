/** A callback for the abort of a signal. */
interface AbortListener {
  readonly runs: Set<() => void>;
  readonly abort: () => void;
}

/** The listener of each signal. All waits with a signal share it: Node warns of more than ten listeners. */
const listeners = new WeakMap<AbortSignal, AbortListener>();

function listenerOf(signal: AbortSignal): AbortListener {
  const known = listeners.get(signal);
  if (known !== undefined) return known;
  const runs = new Set<() => void>();
  const listener = { runs, abort: () => runs.forEach((run) => run()) };
  listeners.set(signal, listener);
  signal.addEventListener("abort", listener.abort);
  return listener;
}

/** Runs a function, which must not throw, when a signal aborts. Returns a function that cancels this. */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  const { runs, abort } = listenerOf(signal);
  runs.add(run);
  return () => {
    if (!runs.delete(run) || runs.size > 0) return;
    listeners.delete(signal);
    signal.removeEventListener("abort", abort);
  };
}

/** Resolves when a signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return calledOrAborted(signal, () => {});
}

/**
 * Resolves when the callback passed to `begin` is called, to its argument, or when the signal aborts. If the signal has
 * aborted already, `begin` is not called. The function that `begin` returns is called at the end.
 */
export function calledOrAborted<T = void>(
  signal: AbortSignal,
  begin: (call: (value: T) => void) => (() => void) | void,
): Promise<T | void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    let over = false;
    let end: (() => void) | void = undefined;
    const settle = (value: T | void) => {
      if (over) return;
      over = true;
      remove();
      end?.();
      resolve(value);
    };
    const remove = onAbort(signal, () => settle());
    end = begin(settle);
    if (over) end?.();
  });
}
