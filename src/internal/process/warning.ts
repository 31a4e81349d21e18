/**
 * The kinds of mistakes that the process was warned of. Module-level state, because the promise is about the process: one
 * warning for each kind, however many stores and locks there are.
 */
const warned = new Set<string>();

/**
 * Warns of a mistake in the program, once per process for each kind, where the runtime has `process.emitWarning`. By
 * default that prints the message; a program can listen for it.
 */
export function warnOnce(kind: string, message: string): void {
  if (warned.has(kind)) return;
  warned.add(kind);
  const { process } = globalThis as { process?: { emitWarning?(message: string, type: string): void } };
  process?.emitWarning?.(message, "HoldfastWarning");
}
