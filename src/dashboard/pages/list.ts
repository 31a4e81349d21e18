import { address } from "../address.ts";
import { formatDuration } from "../format_duration.ts";
import { type Content, type Html, html } from "../html.ts";
import type { Counts } from "../counters.ts";
import type { ListModel, LockModel } from "../lock_model.ts";
import { visible } from "../visible_text.ts";
import { age, counted, kind, lease, who } from "./handle.ts";
import type { Page, Surroundings } from "./layout.ts";

/** What the visitor of a list asks for. */
export interface ListRequest {
  /** What was typed into the filter. */
  readonly text: string;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
}

/** Returns the page with the list of the locks. */
export function listPage(
  model: ListModel,
  counts: readonly Counts[] | undefined,
  request: ListRequest,
  at: Surroundings,
): Page {
  const main = html`
    <h1>Locks</h1>
    <form id="filter" role="search" action="${address(at.base, "")}" method="get">
    <label for="match">Filter by name</label>
    <input type="search" id="match" name="match" value="${request.text}" autocomplete="off" spellcheck="false"
    aria-describedby="hint">
    ${request.limit !== undefined && html`<input type="hidden" name="limit" value="${request.limit}">`}
    <button type="submit">Filter</button>
    <p class="quiet" id="hint">Finds the text anywhere in the name. With <kbd>*</kbd>, which stands for any text, it is
    compared with the whole name.</p>
    </form>
    <p class="fault" id="fault" role="alert" hidden></p>
    <div id="live">${listFragment(model, request, at)}</div>
    <section aria-labelledby="counters-heading">
      <h2 id="counters-heading">Seen by this process in the last hour</h2>
      <div id="counters">${countersFragment(counts)}</div>
    </section>
  `;
  return { title: "Locks", main, events: "events/list" };
}

/** Returns the part of the list that changes. */
export function listFragment({ locks, cursor }: ListModel, request: ListRequest, at: Surroundings): Html {
  const limited = { match: request.text === "" ? undefined : request.text, limit: request.limit };
  const first = request.cursor !== undefined && html`<a href="${address(at.base, "", limited)}">First page</a>`;
  const next = cursor !== undefined &&
    html`<a rel="next" href="${address(at.base, "", { ...limited, cursor })}">Next page</a>`;
  return html`<p class="quiet">${listSummary({ locks, cursor }, request)}</p>
${locks.length > 0 && table(locks, at)}
${(first || next) && html`<nav class="pages" aria-label="Pages">${first} ${next}</nav>`}`;
}

/** Returns how many locks a page of the list has, in words. */
export function listSummary({ locks, cursor }: ListModel, { text }: ListRequest): string {
  if (locks.length === 0) {
    if (cursor !== undefined) return "No lock found so far: the next page looks further.";
    return text === "" ? "No lock is held or waited for." : "No lock with such a name is held or waited for.";
  }
  const waiters = locks.reduce((sum, { waiters }) => sum + waiters, 0);
  const here = cursor === undefined ? "" : " on this page, and there are more";
  return `${counted(locks.length, "lock")}${here}; ${counted(waiters, "handle")} waiting.`;
}

/** The roles are those that the elements have by themselves, as long as a narrow window does not make them blocks. */
function table(locks: readonly LockModel[], at: Surroundings): Html {
  const columns = ["Lock", "Kind", "Held by", "Held for", "Lease ends in", "Waiting", "Longest wait"];
  return html`
    <table role="table" class="list" aria-label="Locks">
      <thead role="rowgroup">
        <tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col">${column}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">
    ${locks.map((lock) => row(lock, at))}</tbody>
    </table>
  `;
}

function row(lock: LockModel, at: Surroundings): Html {
  const { name, holders, waiters, waitingSince, held: [holder], pending: [waiter] } = lock;
  const mode = holder?.mode ?? waiter?.mode;
  const cells: [string, Content][] = [
    ["Kind", mode !== undefined && kind(mode)],
    [
      "Held by",
      holder === undefined ? html`<span class="quiet">nobody</span>` : [
        visible(who(holder)),
        holders > 1 && html`
          <span class="quiet">and ${counted(holders - 1, "other")}</span>
        `,
      ],
    ],
    ["Held for", holder !== undefined && age(holder.since, at.now)],
    ["Lease ends in", holder !== undefined && lease(holder, at.now)],
    ["Waiting", waiters],
    ["Longest wait", waiters > 0 && age(waitingSince, at.now)],
  ];
  const link = html`<a href="${address(at.base, "lock", { name })}">${visible(name)}</a>`;
  return html`
    <tr role="row" data-key="${encodeURIComponent(name.toWellFormed())}">
    <th role="rowheader" scope="row">${link}</th>
    ${cells.map(([label, content]) => html`<td role="cell" data-label="${label}">${content}</td>`)}
    </tr>
  `;
}

/** Returns what this process has seen of its own locks, by prefix. */
export function countersFragment(counts: readonly Counts[] | undefined): Html {
  if (counts === undefined) {
    return html`<p class="quiet">This runtime has no diagnostics channels to count events with.</p>`;
  }
  if (counts.length === 0) {
    return html`<p class="quiet">Nothing: this process has acquired no lock in the last hour. The process that takes the
locks counts them if the dashboard is mounted there.</p>`;
  }
  const columns = ["Names", "Acquired", "Mean wait", "Longest wait", "Given up", "Lost"];
  return html`
    <table role="table" class="list" aria-labelledby="counters-heading">
      <thead role="rowgroup">
        <tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col">${column}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">
    ${counts.map(countersRow)}</tbody>
    </table>
    <p class="quiet">The locks of this process alone, in all its stores.</p>
  `;
}

function countersRow({ prefix, acquired, meanWait, maxWait, gaveUp, lost }: Counts): Html {
  const cells = {
    "Acquired": acquired,
    "Mean wait": wait(meanWait),
    "Longest wait": wait(maxWait),
    "Given up": reasons(gaveUp),
    "Lost": reasons(lost),
  };
  return html`
    <tr role="row" data-key="${prefix === undefined ? "others" : encodeURIComponent(`p${prefix.toWellFormed()}`)}">
    <th role="rowheader" scope="row">${prefixLabel(prefix)}</th>
    ${Object.entries(cells).map(([label, content]) => html`<td role="cell" data-label="${label}">${content}</td>`)}
    </tr>
  `;
}

function prefixLabel(prefix: string | undefined): Content {
  if (prefix === undefined) return "other prefixes";
  return prefix === "" ? "without a colon" : [visible(prefix), "*"];
}

/** Most waits are shorter than a second. */
function wait(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : formatDuration(ms);
}

function reasons(counts: Readonly<Record<string, number>>): string {
  const all = Object.entries(counts);
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  return total === 0 ? "0" : `${total} (${all.map(([reason, count]) => `${reason} ${count}`).join(", ")})`;
}
