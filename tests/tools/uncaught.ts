/** What nobody has caught since the last look. */
const uncaught: unknown[] = [];

/**
 * Notes from now on each error that nobody catches, and each rejection that nobody handles when it happens. Deno would
 * end the whole file with it, and cancel its other tests.
 */
export function noteUncaught(): void {
  globalThis.addEventListener("error", note);
  globalThis.addEventListener("unhandledrejection", note);
}

/** Leaves what comes from now on to Deno. Throws what nobody has caught. */
export function endNoting(): void {
  globalThis.removeEventListener("error", note);
  globalThis.removeEventListener("unhandledrejection", note);
  throwUncaught();
}

function note(event: ErrorEvent | PromiseRejectionEvent): void {
  const error = event instanceof ErrorEvent ? event.error : event.reason;
  event.preventDefault();
  // A test that listens as well, and prevents the same, has caught it.
  let isCaught = false;
  event.preventDefault = () => void (isCaught = true);
  queueMicrotask(() => isCaught || uncaught.push(error));
}

/** Runs a test. Throws what nobody has caught by then, also what an earlier test has left behind. */
export async function catchingAll(test: () => void | Promise<void>): Promise<void> {
  try {
    await test();
  } catch (error) {
    throw found(error);
  }
  throwUncaught();
}

function throwUncaught(): void {
  if (uncaught.length > 0) throw found();
}

function found(...own: unknown[]): unknown {
  const others = uncaught.splice(0);
  if (others.length === 0 && !(own[0] instanceof SuppressedError)) return own[0];
  return new Error([...own.map(text), ...others.map((error) => `not caught: ${text(error)}`)].join("\n"));
}

/** Returns what is known of an error; of one that was thrown on the way out, also the one before, which Deno hides. */
function text(error: unknown): string {
  if (error instanceof SuppressedError) {
    return `${text(error.suppressed)}\nand then, on the way out: ${text(error.error)}`;
  }
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
