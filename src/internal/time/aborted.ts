/** Resolves when a signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Resolves when the callback that `begin` gets is called, to the value that it is called with, or when the signal aborts;
 * if that has aborted already, `begin` is not called. What `begin` returns is called at the end.
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
      signal.removeEventListener("abort", abort);
      end?.();
      resolve(value);
    };
    const abort = () => settle();
    signal.addEventListener("abort", abort);
    end = begin(settle);
    if (over) end?.();
  });
}
