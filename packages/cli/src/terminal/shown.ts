import { INVISIBLE } from "../../internal/display/invisible.ts";

/**
 * Returns a text for the terminal: as it is, or as a JSON string in quotes if it has characters that would not be seen,
 * would move the cursor, or would change the direction of what follows. Names of locks come from anywhere. What is shown
 * without quotes is what it looks like.
 */
export function shown(text: string): string {
  const plain = text !== "" && !/^\s|\s$|["\\]/u.test(text) && escaped(text) === text;
  return plain ? text : escaped(JSON.stringify(text));
}

/** Returns a message of an error in one line: without line breaks, and what is invisible escaped. */
export function oneLine(text: string): string {
  return escaped(text.trim().replace(/\s*[\r\n]+\s*/g, "; "));
}

/** Returns a value as JSON in one line that is safe on a terminal. A fence becomes a string. */
export function json(value: unknown): string {
  return escaped(JSON.stringify(value, (_, each) => typeof each === "bigint" ? String(each) : each));
}

/** Replaces the characters that are not seen by the escapes of JSON. */
function escaped(text: string): string {
  const unit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(INVISIBLE, (character) => character.replace(/[^]/g, unit));
}
