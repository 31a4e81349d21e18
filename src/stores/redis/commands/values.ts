import { show } from "../../../internal/validation.ts";
import type { Claim, Kind } from "../../../contract/store.ts";

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

/** Decodes a whole number up to 2^53. */
export function decodeNumber(value: unknown): number {
  return Number(decodeBigInt(value));
}

/** Decodes a reply that is one of the numbers from 0 up to `last`. */
export function decodeOneOf(reply: unknown, last: number): number {
  const number = decodeNumber(reply);
  if (number < 0 || number > last) throw foreignReply(reply);
  return number;
}

export function decodeFlag(reply: unknown): boolean {
  return decodeOneOf(reply, 1) === 1;
}

export function decodeList(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw foreignReply(reply);
}

/** Returns the error for a reply that no script gives. It is no `StoreError`: the script may have been executed. */
function foreignReply(reply: unknown): Error {
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

export function decodeKind(kind: string): Kind {
  const [, permits] = /^:permits=(\d+)$/.exec(kind) ?? [];
  if (permits !== undefined) return Number(permits);
  return kind === ":shared" ? "shared" : "exclusive";
}
