import type { LockKeys } from "../keys/keys.ts";
import type { Script } from "./script.ts";

/** What is sent to run a script: the header of its .lua file names the keys and arguments, in this order. */
export interface Call {
  readonly keys: string[];
  readonly args: string[];
}

/** A script, with the only place that knows its arguments and the only one that knows its replies. */
export interface Command<Input, Reply> {
  readonly script: Script;
  /** Makes a call of what is asked, for the lock with these keys. */
  encode(keys: LockKeys, input: Input): Call;
  /** Reads a reply to it. */
  decode(reply: unknown, input: Input): Reply;
}

/** Formats a duration as Redis takes it: whole milliseconds, never less than the holder believes in. */
export function milliseconds(duration: number): string {
  return String(Math.ceil(duration));
}

/** Reads a reply that says yes or no. */
export function decodeFlag(reply: unknown): boolean {
  return Number(reply) === 1;
}
