import { counted } from "../../display/counted.ts";
import { showDuration } from "../../display/duration.ts";
import { type Content, type Html, html } from "./html.ts";
import type { HandleModel, HolderModel } from "../state/lock_model.ts";
import { visible } from "./visible_text.ts";

/** Returns the names of some handles, at most three of them, given the first ones. */
export function whoAll(names: readonly string[], count: number): Content {
  const named = names.slice(0, 3);
  const parts = [...named.map(visible), ...count > named.length ? [counted(count - named.length, "other")] : []];
  return parts.map((part, i) => [i === 0 ? "" : i === parts.length - 1 ? " and " : ", ", part]);
}

/** Returns the description of a handle, and its ids. */
export function description(handle: HandleModel): Html {
  const { meta = {}, owner } = handle;
  const entries = Object.entries(meta).map(([key, value]) =>
    html`
      <div>
        <dt>${visible(key)}</dt>
        <dd>${visible(value)}</dd>
      </div>
    `
  );
  return html`<dl>
${entries}<div><dt>owner</dt><dd>${visible(owner)}</dd></div>
${
    owner !== handle.handle && html`
      <div>
        <dt>handle</dt>
        <dd>${visible(handle.handle)}</dd>
      </div>
    `
  }</dl>`;
}

/** Returns a duration, which the page's script keeps up to date, and its start. */
export function age(since: number | undefined, now: number): Html {
  if (since === undefined) return html`<span class="quiet">unknown</span>`;
  const moment = utc(since);
  return html`<time data-since="${since}" datetime="${moment.replace(" ", "T")}Z" title="since ${moment} UTC">${
    showDuration(now - since)
  }</time> ${instant(since, now)}`;
}

/** Returns when the lease of a holder ends unless renewed. */
export function leaseEnd({ ends }: HolderModel, now: number): Content {
  return ends !== undefined && instant(ends, now);
}

/** Returns a moment as text, with the day unless it is today. */
function instant(moment: number, now: number): Html {
  const [day, time] = utc(moment).split(" ");
  return html`<span class="instant">${utc(now).startsWith(day!) ? "" : `${day} `}${time} UTC</span>`;
}

/** Returns the rest of a lease, in words and as a bar that runs down. */
export function lease({ ends, longest }: HolderModel, now: number): Html {
  if (ends === undefined || longest === undefined) return html`<span class="quiet">unknown</span>`;
  const left = Math.max(0, ends - now);
  const most = scaleOf(longest);
  return html`<span class="lease"><meter min="0" max="${most}" value="${Math.min(left, most)}" data-ends="${ends}"
 aria-label="Left of the lease"></meter> <span class="left" data-ends="${ends}">${showDuration(left)}</span></span>`;
}

/** Lengths that leases often have, in milliseconds. */
const SCALES: readonly number[] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600].map((seconds) =>
  seconds * 1_000
);

/**
 * Returns the length of a full bar. No store reports the length of a lease; the page may never have seen it just
 * renewed.
 */
function scaleOf(longest: number): number {
  return SCALES.find((scale) => longest <= scale * 1.01) ?? longest;
}

/** Returns a number with its digits in groups of three. */
export function grouped(number: number): string {
  return number.toLocaleString("en");
}

/** Formats dates as ISO 8601, as Swedish does, with the years that a date can have. */
const FORMAT = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: "UTC" });

function utc(moment: number): string {
  return FORMAT.format(Math.min(Math.max(moment, 0), 8.64e15));
}
