import { INVISIBLE } from "../../display/invisible.ts";
import { type Content, type Html, html } from "./html.ts";

/** Returns a text of unknown origin as HTML in which every character can be seen, set apart from the text around it. */
export function visible(text: string): Html {
  const parts: Content[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(INVISIBLE)) {
    parts.push(text.slice(end, index), html`<span class="code">${escaped(character)}</span>`);
    end = index + character.length;
  }
  return html`<bdi class="text">${parts}${text.slice(end)}</bdi>`;
}

/** Returns a text of unknown origin as plain text in which every character can be seen, for titles and labels. */
export function plain(text: string): string {
  return text.replace(INVISIBLE, escaped);
}

function escaped(character: string): string {
  const hex = character.codePointAt(0)!.toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
}
