/** Returns a text as UTF-8 in base64. */
export function base64Of(text: string): string {
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

/** Returns the text that is UTF-8 in base64; what is no UTF-8 becomes U+FFFD. */
export function textOfBase64(base64: string): string {
  // Else it takes a character U+FEFF at the beginning for a mark.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)),
  );
}
