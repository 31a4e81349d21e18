/** The kinds of mistakes that the process was warned of: the promise is about the process. */
const warned = new Set<string>();

/** Warns of a mistake in the program, once per process for each kind, where the runtime has `process.emitWarning`. */
export function warnOnce(kind: string, message: string): void {
  if (warned.has(kind)) return;
  warned.add(kind);
  const { process } = globalThis as { process?: { emitWarning?(message: string, type: string): void } };
  process?.emitWarning?.(message, "HoldfastWarning");
}
