import { counted } from "../../display/counted.ts";
import { handleName, placeName } from "../../display/entries.ts";
import { address } from "../requests/address.ts";
import { type Content, type Html, html } from "./html.ts";
import type { HolderModel, LockModel, WaiterModel } from "../state/lock_model.ts";
import { plain, visible } from "./visible_text.ts";
import type { FormerHolder } from "../requests/evicted_cookie.ts";
import { consequences } from "./consequences.ts";
import { age, description, lease, leaseEnd, whoAll } from "./handle.ts";
import type { Page, Surroundings } from "./layout.ts";

/** The eviction that has just redirected to the page of a lock. */
export interface Eviction {
  /** How many handles lost the lock. */
  readonly count: number;
  /** The first of these handles, as far as they are known. */
  readonly former: readonly FormerHolder[];
}

/** Returns the page of one lock. */
export function lockPage(lock: LockModel, eviction: Eviction | undefined, at: Surroundings): Page {
  const main = html`<h1>${visible(lock.name)}</h1>
${eviction !== undefined && done(eviction)}
<p class="fault" id="fault" role="alert" hidden></p>
<div id="live">${lockFragment(lock, at)}</div>
<p><a href="${address(at.base, "")}">All locks</a></p>`;
  return { title: plain(lock.name), main, events: "events/lock" };
}

function done({ count, former }: Eviction): Html {
  const names = former.map(({ who, fence }) => fence === undefined ? who : `${who} (fence ${fence})`);
  const losers = names.length === 0 ? counted(count, "handle") : whoAll(names, count);
  return html`<p class="done" role="status">Evicted: ${losers} lost the lock.</p>`;
}

/** Returns the part of the page that changes. */
export function lockFragment(lock: LockModel, at: Surroundings): Html {
  const { name, held, holders, pending, waiters } = lock;
  return html`<section aria-labelledby="holders">
<h2 id="holders">${holders === 0 ? "Holders" : counted(holders, "holder")}</h2>
${holders === 0 ? html`<p class="quiet">Nobody holds this lock.</p>` : holderTable(held, at)}
${more(holders - held.length, "holder")}
${
    at.mayEvict && holders > 0 &&
    html`<p><a class="button danger" href="${address(at.base, "evict", { name })}">Evict…</a></p>
<p class="quiet">If you evict:</p>
${consequences(lock)}`
  }
</section>
<section aria-labelledby="queue">
<h2 id="queue">${waiters === 0 ? "Queue" : counted(waiters, "waiter")}</h2>
${waiters === 0 ? html`<p class="quiet">Nobody waits for this lock.</p>` : waiterTable(pending, at)}
${more(waiters - pending.length, "waiter")}
</section>`;
}

/** Returns the holder of a lock and the number of waiters, in words. */
export function lockSummary({ held: [holder], holders, waiters }: LockModel): string {
  const others = holders > 1 ? ` and ${counted(holders - 1, "other")}` : "";
  return `Held by ${holder === undefined ? "nobody" : plain(handleName(holder))}${others}; ${
    counted(waiters, "handle")
  } waiting.`;
}

/** Returns a table of holders. */
export function holderTable(held: readonly HolderModel[], at: Surroundings): Html {
  return table("Holders", ["Holder", "Kind", "Fence", "Held for", "Lease ends in"], held, (holder) => [
    holder.fence === undefined ? html`<span class="quiet">unknown</span>` : html`<code>${holder.fence}</code>`,
    age(holder.since, at.now),
    [lease(holder, at.now), " ", leaseEnd(holder, at.now)],
  ]);
}

function waiterTable(pending: readonly WaiterModel[], at: Surroundings): Html {
  return table("Queue", ["Waiter", "Kind", "Ahead of it", "Waiting for"], pending, (waiter) => [
    waiter.rank,
    age(waiter.since, at.now),
  ]);
}

function table<Handle extends HolderModel | WaiterModel>(
  label: string,
  columns: readonly string[],
  handles: readonly Handle[],
  cells: (handle: Handle) => Content[],
): Html {
  const row = (handle: Handle) =>
    html`
      <tr role="row" data-key="${encodeURIComponent(handle.handle.toWellFormed())}">
      <th role="rowheader" scope="row">${description(handle)}</th>
      ${[placeName(handle), ...cells(handle)].map((content, i) =>
        html`<td role="cell" data-label="${columns[i + 1]}">${content}</td>`
      )}
      </tr>
    `;
  return html`
    <table role="table" aria-label="${label}">
      <thead role="rowgroup">
        <tr role="row">${columns.map((column) =>
          html`<th role="columnheader" scope="col" data-label="${column}">${column}</th>`
        )}</tr>
      </thead>
      <tbody role="rowgroup">
    ${handles.map(row)}</tbody>
    </table>
  `;
}

function more(count: number, noun: string): Content {
  return count > 0 && html`<p class="quiet">and ${counted(count, `more ${noun}`)}</p>`;
}
