import { INVISIBLE } from "../display/invisible.ts";

/**
 * Returns a text for the terminal: unchanged, or as a JSON string in quotes if it has invisible characters, or
 * characters that move the cursor or change the direction of the text. Names of locks come from anywhere. A text
 * without quotes is exactly what it looks like.
 */
export function shown(text: string): string {
  const plain = text !== "" && !/^\s|\s$|["\\]/u.test(text) && escaped(text) === text;
  return plain ? text : escaped(JSON.stringify(text));
}

/** Returns an error message as one line: without line breaks, and with invisible characters escaped. */
export function oneLine(text: string): string {
  return escaped(text.trim().replace(/\s*[\r\n]+\s*/g, "; "));
}

/** Returns a value as JSON in one line that is safe on a terminal. A fence becomes a string. */
export function json(value: unknown): string {
  return escaped(JSON.stringify(value, (_, each) => typeof each === "bigint" ? String(each) : each));
}

/** Replaces invisible characters by the escapes of JSON. */
function escaped(text: string): string {
  const unit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(INVISIBLE, (character) => character.replace(/[^]/g, unit));
}
