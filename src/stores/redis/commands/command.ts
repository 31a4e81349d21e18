import { show } from "../../../internal/validation.ts";
import type { LockKeys } from "../keys/keys.ts";
import type { Claim, Kind } from "../../../contract/store.ts";

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

/** Formats a duration as Redis takes it: whole milliseconds, never less than the holder trusts. */
export function milliseconds(duration: number): string {
  return String(Math.ceil(duration));
}

/** Decodes a whole number, which some clients return as a text. */
export function decodeBigInt(value: unknown): bigint {
  if (["number", "string", "bigint"].includes(typeof value) && /^-?\d+$/.test(String(value))) {
    return BigInt(String(value));
  }
  throw foreignReply(value);
}

/** Reads a whole number up to 2^53. */
export function decodeNumber(value: unknown): number {
  return Number(decodeBigInt(value));
}

/** Reads a reply that is one of the numbers from 0 up to `last`. */
export function decodeOneOf(reply: unknown, last: number): number {
  const number = decodeNumber(reply);
  if (number < 0 || number > last) throw foreignReply(reply);
  return number;
}

/** Reads a reply that says yes or no. */
export function decodeFlag(reply: unknown): boolean {
  return decodeOneOf(reply, 1) === 1;
}

/** Decodes a reply, or a part of a reply, that is a list. */
export function decodeList(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw foreignReply(reply);
}

/** Returns the error for a reply that no script gives. It is no `StoreError`: the script may have been executed. */
export function foreignReply(reply: unknown): Error {
  const why = reply === "QUEUED"
    ? "the client is inside MULTI"
    : "the client gave the reply to something else, or changes replies";
  return new Error(
    `${show(reply)} is no reply of a script of locks: ${why}. Pass a client that is used for nothing else`,
  );
}

/** Encodes the kind of a claim for the scripts; empty for the usual kind: an exclusive lock and a fresh owner. */
export function encodeKind({ mode, permits, handle }: Claim, steal = false): string {
  if (permits !== undefined) return `:permits=${permits}`;
  if (mode === "shared") return ":shared";
  if (steal) return ":steal";
  return handle === undefined ? "" : ":exclusive";
}

/** Reads a kind of lock in a reply. */
export function decodeKind(kind: string): Kind {
  const [, permits] = /^:permits=(\d+)$/.exec(kind) ?? [];
  if (permits !== undefined) return Number(permits);
  return kind === ":shared" ? "shared" : "exclusive";
}
