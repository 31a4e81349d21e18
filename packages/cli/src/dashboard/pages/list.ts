import { address } from "../requests/address.ts";
import { counted } from "../../display/counted.ts";
import { handleName, modeName } from "../../display/entries.ts";
import { showDuration } from "../../display/duration.ts";
import { type Content, type Html, html } from "./html.ts";
import type { Counts } from "../state/counters.ts";
import type { LockOrder } from "../../listing/locks.ts";
import type { ListModel, LockModel } from "../state/lock_model.ts";
import { visible } from "./visible_text.ts";
import { age, grouped, lease } from "./handle.ts";
import type { Page, Surroundings } from "./layout.ts";

/** The request of a visitor for a list. */
export interface ListRequest {
  /** The text in the filter. */
  readonly text: string;
  readonly order: LockOrder | undefined;
  readonly contended: boolean;
  readonly limit: number | undefined;
  readonly page: number | undefined;
  /** The start of the locks to read, unless it is the first lock. */
  readonly cursor: string | undefined;
}

/** Returns the page with the list of the locks. */
export function listPage(
  model: ListModel,
  counts: readonly Counts[],
  request: ListRequest,
  at: Surroundings,
): Page {
  const main = html`
    <h1>Locks</h1>
    ${filterForm(request, at)}
    <p class="fault" id="fault" role="alert" hidden></p>
    <div id="live">${listFragment(model, request, at)}</div>
    <div id="counters">${countersFragment(counts)}</div>
  `;
  return { title: "Locks", main, events: "events/list" };
}

function filterForm({ text, order, contended, limit }: ListRequest, at: Surroundings): Html {
  const option = (value: LockOrder, label: string) =>
    order === value
      ? html`<option value="${value}" selected>${label}</option>`
      : html`<option value="${value}">${label}</option>`;
  return html`
    <form id="filter" role="search" action="${address(at.base, "")}" method="get" autocomplete="off">
    <label for="match">Filter by name</label>
    <input type="search" id="match" name="match" value="${text}" autocomplete="off" spellcheck="false"
    aria-describedby="hint">
    <label class="choice"><input type="checkbox" id="contended" name="contended" value="1"${contended && html`
      checked
    `}> Only contended</label>
    <label class="choice">Order <select id="sort" name="sort">${[
      option("wait", "longest wait"),
      option("name", "name"),
    ]}</select></label>
    ${limit !== undefined && html`<input type="hidden" name="limit" value="${limit}">`}
    <button type="submit">Filter</button>
    <p class="quiet" id="hint">Finds the text anywhere in the name. With <kbd>*</kbd>, which stands for any text, it is
    compared with the whole name.</p>
    </form>
  `;
}

/** Returns the part of the list that changes. */
export function listFragment(model: ListModel, request: ListRequest, at: Surroundings): Html {
  const { locks, read } = model;
  return html`${read > 0 && totals(model, at)}
${locks.length === 0 && html`<p class="quiet">${emptiness(model, request)}</p>`}
${cutNotice(model, request, at)}
${locks.length > 0 && table(locks, at)}
${pageLinks(model, request, at)}`;
}

/** Returns the totals of all locks that match, in words. */
export function listSummary(model: ListModel, request: ListRequest): string {
  const { held, waiting, contended } = model.totals;
  if (model.read === 0) return emptiness(model, request);
  return `${counted(held, "lock")} held, ${counted(waiting, "handle")} waiting, ${
    counted(contended, "lock")
  } contended.`;
}

/** Returns the reason why the list is empty. */
function emptiness({ read, cursor }: ListModel, { text }: ListRequest): string {
  if (read > 0) return "Nobody waits for one of these locks.";
  if (cursor !== undefined) return "No lock found so far.";
  return text === "" ? "No lock is held or waited for." : "No lock with such a name is held or waited for.";
}

function totals({ totals: { held, waiting, contended }, waitingSince }: ListModel, at: Surroundings): Html {
  const numbers: [string, Content][] = [
    ["Locks held", grouped(held)],
    ["Handles waiting", grouped(waiting)],
    ["Locks contended", grouped(contended)],
    ["Longest wait", waiting > 0 ? age(waitingSince, at.now) : "none"],
  ];
  return html`
    <dl class="totals">
    ${numbers.map(([label, content]) =>
      html`
        <div>
          <dt>${label}</dt>
          <dd>${content}</dd>
        </div>
      `
    )}
    </dl>
  `;
}

/** Returns a notice that the store has more locks than were read, with a link to them. */
function cutNotice({ read, cursor }: ListModel, request: ListRequest, at: Surroundings): Content {
  if (cursor === undefined) return false;
  const next = html`<a href="${listAddress(at, request, { cursor })}">look at the following ones</a>`;
  return html`
    <p class="notice"
      role="note">There are more locks: totals and order are those of the ${grouped(
        read,
      )} that were read. Filter by name, or ${next}.</p>
  `;
}

function pageLinks({ page, pages }: ListModel, request: ListRequest, at: Surroundings): Content {
  const { cursor } = request;
  const first = (page > 1 || cursor !== undefined) && html`<a href="${listAddress(at, request, {})}">First page</a>`;
  const previous = page > 1 &&
    html`<a rel="prev" href="${listAddress(at, request, { page: page - 1, cursor })}">Previous page</a>`;
  const next = page < pages &&
    html`<a rel="next" href="${listAddress(at, request, { page: page + 1, cursor })}">Next page</a>`;
  return (first || next) && html`
    <nav class="pages"
      aria-label="Pages">${first} ${previous} <span>Page ${page} of ${pages}</span> ${next}</nav>
  `;
}

/** Returns the address of another part of the same list. */
function listAddress(
  { base }: Surroundings,
  { text, order, contended, limit }: ListRequest,
  { page, cursor }: { readonly page?: number; readonly cursor?: string | undefined },
): string {
  const parameters = {
    match: text === "" ? undefined : text,
    sort: order,
    contended: contended ? 1 : undefined,
    limit,
    page: page === 1 ? undefined : page,
    cursor,
  };
  return address(base, "", parameters);
}

/** Returns the table of locks. It names the roles of its elements, because a narrow window makes them blocks. */
function table(locks: readonly LockModel[], at: Surroundings): Html {
  const columns = ["Lock", "Waiting", "Longest wait", "Held by", "Held for", "Lease ends in", "Kind"];
  return html`
    <table role="table" class="list" aria-label="Locks">
      <thead role="rowgroup">
        <tr role="row">${columns.map((column) =>
          html`<th role="columnheader" scope="col" data-label="${column}">${column}</th>`
        )}</tr>
      </thead>
      <tbody role="rowgroup">
    ${locks.map((lock) => row(lock, at))}</tbody>
    </table>
  `;
}

function row(lock: LockModel, at: Surroundings): Html {
  const { name, holders, waiters, waitingSince, held: [holder], pending: [waiter] } = lock;
  const first = holder ?? waiter;
  const cells: [string, Content][] = [
    ["Waiting", waiters > 0 ? html`<strong>${grouped(waiters)}</strong>` : html`<span class="quiet">0</span>`],
    ["Longest wait", waiters > 0 && age(waitingSince, at.now)],
    [
      "Held by",
      holder === undefined ? html`<span class="quiet">nobody</span>` : [
        visible(handleName(holder)),
        holders > 1 && html`
          <span class="quiet">and ${counted(holders - 1, "other")}</span>
        `,
      ],
    ],
    ["Held for", holder !== undefined && age(holder.since, at.now)],
    ["Lease ends in", holder !== undefined && lease(holder, at.now)],
    ["Kind", first !== undefined && modeName(first)],
  ];
  const link = html`<a href="${address(at.base, "lock", { name })}">${visible(name)}</a>`;
  return html`
    <tr role="row" data-key="${encodeURIComponent(name.toWellFormed())}">
    <th role="rowheader" scope="row">${link}</th>
    ${cells.map(([label, content]) => html`<td role="cell" data-label="${label}">${content}</td>`)}
    </tr>
  `;
}

/** Returns the events that this process has counted, by prefix; nothing if it has counted none. */
export function countersFragment(counts: readonly Counts[]): Html {
  if (counts.length === 0) return html``;
  const columns = ["Names", "Acquired", "Mean wait", "Longest wait", "Given up", "Lost"];
  return html`
    <section aria-labelledby="counters-heading">
      <h2 id="counters-heading">Seen by this process in the last hour</h2>
      <table role="table" class="list" aria-labelledby="counters-heading">
        <thead role="rowgroup">
          <tr role="row">${columns.map((column) =>
            html`<th role="columnheader" scope="col" data-label="${column}">${column}</th>`
          )}</tr>
        </thead>
        <tbody role="rowgroup">
    ${counts.map(countersRow)}</tbody>
      </table>
      <p class="quiet">The locks of this process alone, in all its stores.</p>
    </section>
  `;
}

function countersRow({ prefix, acquired, meanWait, maxWait, gaveUp, lost }: Counts): Html {
  const cells = {
    "Acquired": acquired,
    "Mean wait": showDuration(meanWait),
    "Longest wait": showDuration(maxWait),
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

function reasons(counts: Readonly<Record<string, number>>): string {
  const all = Object.entries(counts);
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  return total === 0 ? "0" : `${total} (${all.map(([reason, count]) => `${reason} ${count}`).join(", ")})`;
}
