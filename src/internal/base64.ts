/** What is the same as UTF-8. */
const ASCII = /^[\0-\x7f]*$/;

/** Returns a text as UTF-8 in base64. */
export function base64Of(text: string): string {
  if (ASCII.test(text)) return btoa(text);
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

/** Returns the text that is UTF-8 in base64; what is no UTF-8 becomes U+FFFD. */
export function textOfBase64(base64: string): string {
  const text = atob(base64);
  if (ASCII.test(text)) return text;
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  // Else it takes a character U+FEFF at the beginning for a mark.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
