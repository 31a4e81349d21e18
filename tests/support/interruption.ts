/** The reason of an end that somebody wanted. */
export class Interruption extends Error {}

/** Aborts when somebody wants the run to end, or something fails that nobody waits for. */
export function premature(): AbortSignal {
  const controller = new AbortController();
  const interrupt = () => controller.abort(new Interruption("interrupted"));
  Deno.addSignalListener("SIGINT", interrupt);
  Deno.addSignalListener("SIGTERM", interrupt);
  globalThis.addEventListener("unhandledrejection", (event) => {
    // The process must live until all that it has started is stopped.
    event.preventDefault();
    controller.abort(event.reason);
  });
  return controller.signal;
}

/** Returns the message of an error. */
export function reason(error: unknown): string {
  // What failed first, when stopping failed as well.
  if (error instanceof SuppressedError) return reason(error.suppressed);
  return error instanceof Error ? error.message : String(error);
}
