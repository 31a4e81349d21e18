import { address } from "../requests/address.ts";
import { html } from "./html.ts";
import { visible } from "./visible_text.ts";
import type { Page, Surroundings } from "./layout.ts";

/** Returns a page with a message in place of the requested page. */
export function messagePage(title: string, message: string, at: Surroundings): Page {
  const main = html`<h1>${title}</h1>
<p class="fault">${visible(message)}</p>
<p><a href="${address(at.base, "")}">All locks</a></p>`;
  return { title, main };
}
