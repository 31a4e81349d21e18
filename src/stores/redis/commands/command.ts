import type { LockKeys } from "../keys/keys.ts";

/** A Lua script and its SHA-1, by which the server knows it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** The keys and arguments of a script, in the order of the header of its .lua file. */
export interface Call {
  readonly keys: string[];
  readonly args: string[];
}

/** A script, with the only code that knows its arguments and its replies. */
export interface Command<Input, Reply> {
  readonly script: Script;
  /** Whether a second execution would reply otherwise, or do more. */
  readonly once?: boolean;
  /** Encodes the input, for the lock with these keys. */
  encode(keys: LockKeys, input: Input): Call;
  decode(reply: unknown, input: Input): Reply;
}
