import { show } from "../validation.ts";

const ENCODER = new TextEncoder();

const DIGITS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * Returns the bytes of a text as hexadecimal digits. The digits are safe inside a statement, for any text and any
 * setting of how a server reads strings.
 */
export function hexOf(text: string): string {
  return hexOfBytes(ENCODER.encode(text));
}

export function hexOfBytes(bytes: Uint8Array): string {
  let digits = "";
  for (const byte of bytes) digits += DIGITS[byte];
  return digits;
}

/** Returns a text that never existed before: 128 random bits as hexadecimal digits. */
export function randomHex(): string {
  return hexOfBytes(crypto.getRandomValues(new Uint8Array(16)));
}

/**
 * Returns the cursor of a listing, which is the last name of a page as hexadecimal digits.
 *
 * @throws {RangeError} when it is anything else, which must not become part of a statement
 */
export function checkHexCursor(cursor: string): string {
  if (/^(?:[0-9a-f]{2})*$/i.test(cursor)) return cursor;
  throw new RangeError(`cursor must be one that query() has returned: got ${show(cursor)}`);
}

/** Returns the text with the bytes of these digits. */
export function textOfHex(digits: string): string {
  const bytes = Uint8Array.from(digits.match(/../g) ?? [], (byte) => parseInt(byte, 16));
  // A mark at the beginning is part of a name.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
