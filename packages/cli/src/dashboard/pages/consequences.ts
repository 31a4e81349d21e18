import { handleName } from "../../display/entries.ts";
import { type Html, html } from "./html.ts";
import type { LockModel } from "../state/lock_model.ts";
import { visible } from "./visible_text.ts";
import { whoAll } from "./handle.ts";

/** Describes the consequences of evicting the holders of a lock. */
export function consequences({ held, holders, pending }: LockModel): Html {
  // The members of the run have to queue again.
  const next = pending.find(({ member }) => !member) ?? pending[0];
  return html`
    <ul class="brief">
      <li>${whoAll(held.map(handleName), holders)} ${holders === 1 ? "loses" : "lose"} the lock at once.</li>
      <li>${next === undefined
        ? "Nobody waits: the lock is free then."
        : [visible(handleName(next)), " is granted it next."]}</li>
      <li>A former holder is notified soon, or at its next renewal. Until then it may go on working.</li>
      <li>Whatever it still does is refused only where the resource checks the fence.</li>
    </ul>
  `;
}
