import { address } from "../requests/address.ts";
import { type Content, type Html, html } from "./html.ts";
import { plain } from "./visible_text.ts";

/** The values that all pages need. */
export interface Surroundings {
  /** The title of the dashboard. */
  readonly title: string;
  /** The path of the dashboard, without a slash at its end. */
  readonly base: string;
  /** The nonce of the script and the style that may work in the page. */
  readonly nonce: string;
  /** The time, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** Whether the viewer may evict holders; `undefined` on a page that does not depend on it. */
  readonly mayEvict: boolean | undefined;
}

/** The contents of a page, without the parts that all pages have. */
export interface Page {
  /** Its title, plain text. */
  readonly title: string;
  readonly main: Content;
  /** The path of its event stream, if it is live. The stream takes the page's parameters. */
  readonly events?: string | undefined;
}

/** Returns a whole page. */
export function layout({ title, main, events }: Page, at: Surroundings): Html {
  const live = events === undefined ? undefined : address(at.base, events);
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>${title} – ${plain(at.title)}</title>
        <link rel="icon" type="image/svg+xml" href="${address(at.base, "icon.svg")}">
        <link rel="stylesheet" href="${address(at.base, "style.css")}" nonce="${at.nonce}">
        <script src="${address(at.base, "script.js")}" nonce="${at.nonce}" defer></script>
      </head>
      <body data-now="${at.now}" data-events="${live ?? ""}">
        <a class="skip" href="#main">Skip to the content</a>
        <header>
    <nav aria-label="Dashboard"><a class="home" href="${address(at.base, "")}">${plain(at.title)}</a></nav>
    ${live !== undefined && html`<p class="state" id="state" hidden></p>
<button type="button" id="pause" aria-pressed="false" hidden>Pause</button>`}
        </header>
        <main id="main" tabindex="-1">
    ${main}
    ${live !== undefined && html`<p class="unseen" id="news" role="status"></p>`}
        </main>
        <footer>
          <p>${at.mayEvict !== undefined &&
            (at.mayEvict
              ? "You may evict holders. "
              : "Read only. ")}Ages compare the clock of the store with that of this dashboard. <a href="${address(
              at.base,
              "api/locks",
            )}">JSON</a></p>
        </footer>
      </body>
    </html>
  `;
}
