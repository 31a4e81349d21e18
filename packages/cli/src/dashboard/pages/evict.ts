import { counted } from "../../display/counted.ts";
import { address } from "../requests/address.ts";
import { TOKEN_FIELD } from "../requests/form_token.ts";
import { html } from "./html.ts";
import type { LockModel } from "../state/lock_model.ts";
import { visible } from "./visible_text.ts";
import { consequences } from "./consequences.ts";
import type { Page, Surroundings } from "./layout.ts";
import { holderTable } from "./lock.ts";

/** The form that confirms an eviction. */
export interface EvictionForm {
  /** The proof that the form comes from this page. */
  readonly token: string;
  /** The fingerprint of the holders that the page shows. */
  readonly holders: string;
  /** The fault of the form that was sent before. */
  readonly problem?: string | undefined;
}

/** The field of the form with the fingerprint of the holders. */
export const HOLDERS_FIELD = "holders";

/** Returns the page that asks whether to evict. */
export function evictPage(lock: LockModel, form: EvictionForm, at: Surroundings): Page {
  const { name, held, holders } = lock;
  const back = address(at.base, "lock", { name });
  const problem = form.problem !== undefined && html`<p class="fault" role="alert">${form.problem}</p>`;
  if (holders === 0) {
    return {
      title: "Nothing to evict",
      main: html`<h1>Nothing to evict</h1>
${problem}
<p>Nobody holds ${visible(name)}.</p>
<p><a href="${back}">Back to the lock</a></p>`,
    };
  }
  const main = html`
    <h1>Evict the ${counted(holders, "holder")} of ${visible(name)}?</h1>
    ${problem}
    ${holderTable(held, at)}
    ${consequences(lock)}
    <form method="post" action="${address(at.base, "evict", { name })}">
      <input type="hidden" name="${TOKEN_FIELD}" value="${form.token}">
      <input type="hidden" name="${HOLDERS_FIELD}" value="${form.holders}">
      <p
        class="actions"><button type="submit" class="danger">Evict</button> <a class="button" href="${back}">Cancel</a></p>
    </form>
  `;
  return { title: "Evict?", main };
}
