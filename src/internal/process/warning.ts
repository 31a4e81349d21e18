/**
 * The kinds of mistakes that the process was warned of. Module-level state, because the promise is about the process:
 * one warning for each kind, however many stores and locks it has.
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

/** The used part of a channel of `node:diagnostics_channel`. */
interface Channel {
  readonly hasSubscribers: boolean;
  /** Calls all subscribers, synchronously. */
  publish(message: unknown): void;
}

interface ProcessModule {
  getBuiltinModule?(id: string): { channel(name: string): Channel } | undefined;
}

/** Opens the channel with the events of all stores of the process, where the runtime has diagnostics channels. */
function openChannel(): Channel | undefined {
  const { process } = globalThis as { process?: ProcessModule };
  try {
    return process?.getBuiltinModule?.("node:diagnostics_channel")?.channel("holdfast:lock");
  } catch {
    return undefined; // A runtime that knows the function but not the module.
  }
}

/** The channel, once a caller has asked for it. Module-level state, because the promise is about the process. */
let opened: { readonly channel: Channel | undefined } | undefined;

/**
 * Returns the diagnostics channel `holdfast:lock`: every event of every store of the process. It is opened at the first
 * call, not with this module: in Deno it loads the Node compatibility layer, which the clients of most stores have
 * loaded by then.
 */
export function diagnostics(): Channel | undefined {
  return (opened ??= { channel: openChannel() }).channel;
}
