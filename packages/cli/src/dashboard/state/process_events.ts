import type { LockEvent } from "@holdfast/lock";

/** The part of `node:diagnostics_channel` that is used. */
interface Channels {
  subscribe(name: string, listener: (message: unknown) => void): void;
  unsubscribe(name: string, listener: (message: unknown) => boolean | void): unknown;
}

interface Process {
  getBuiltinModule?(id: string): Channels | undefined;
}

const CHANNEL = "holdfast:lock";

/**
 * Calls a function with every event of every lock of this process.
 *
 * @returns a function that ends this; `undefined` where the runtime has no diagnostics channels
 */
export function watchProcess(note: (event: LockEvent) => void): (() => void) | undefined {
  const { process } = globalThis as { process?: Process };
  // Anybody can publish on the channel; only events of locks are counted.
  const listener = (message: unknown) => {
    if (isEvent(message)) note(message);
  };
  try {
    const channels = process?.getBuiltinModule?.("node:diagnostics_channel");
    channels?.subscribe(CHANNEL, listener);
    return channels && (() => void channels.unsubscribe(CHANNEL, listener));
  } catch {
    return undefined; // A runtime that knows the function but not the module.
  }
}

function isEvent(message: unknown): message is LockEvent {
  return typeof message === "object" && message !== null && "type" in message && "name" in message &&
    typeof message.name === "string";
}
