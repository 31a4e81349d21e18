/** A channel of `node:diagnostics_channel`, as far as it is used. */
interface Channel {
  /** Whether anybody listens. */
  readonly hasSubscribers: boolean;
  /** Calls all who listen, synchronously. */
  publish(message: unknown): void;
}

interface ProcessModule {
  getBuiltinModule?(id: string): { channel(name: string): Channel } | undefined;
}

/** Opens the channel with the events of all stores of the process, where the runtime has such channels. */
function openChannel(): Channel | undefined {
  const { process } = globalThis as { process?: ProcessModule };
  try {
    return process?.getBuiltinModule?.("node:diagnostics_channel")?.channel("holdfast:lock");
  } catch {
    return undefined; // A runtime that knows the function but not the module.
  }
}

/** The channel, once somebody has asked for it. Module-level state, because the promise is about the process. */
let opened: { readonly channel: Channel | undefined } | undefined;

/**
 * Returns the diagnostics channel `holdfast:lock`: every event of every store of the process. It is opened at the first
 * call, not with this module: in Deno that loads what it has of Node, which the clients of most stores have loaded then.
 */
export function diagnostics(): Channel | undefined {
  return (opened ??= { channel: openChannel() }).channel;
}
