const ENCODER = new TextEncoder();

/** The two digits of each byte. */
const DIGITS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * Returns the bytes of a text as hexadecimal digits. Inside a statement that is safe whatever the text is, and with each
 * setting of how a server reads strings.
 */
export function hexOf(text: string): string {
  return hexOfBytes(ENCODER.encode(text));
}

/** Returns bytes as hexadecimal digits. */
export function hexOfBytes(bytes: Uint8Array): string {
  let digits = "";
  for (const byte of bytes) digits += DIGITS[byte];
  return digits;
}

/** Returns the text whose bytes these digits are. */
export function textOfHex(digits: string): string {
  const bytes = Uint8Array.from(digits.match(/../g) ?? [], (byte) => parseInt(byte, 16));
  // A mark at the beginning is part of a name.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
