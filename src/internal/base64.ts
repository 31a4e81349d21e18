/** A text whose characters are its bytes in UTF-8. */
const ASCII = /^[\0-\x7f]*$/;

/** Returns a text as UTF-8 in base64. */
export function base64Of(text: string): string {
  if (ASCII.test(text)) return btoa(text);
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

/** Returns the text of UTF-8 in base64. Bytes that are no UTF-8 become U+FFFD. */
export function textOfBase64(base64: string): string {
  const text = atob(base64);
  if (ASCII.test(text)) return text;
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  // By default it drops U+FEFF at the beginning.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
