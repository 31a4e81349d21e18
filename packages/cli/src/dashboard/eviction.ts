import type { Store } from "@holdfast/lock";
import type { Clock } from "../time/clock.ts";
import type { ListedLock } from "../listing/locks.ts";
import { address } from "./requests/address.ts";
import { answerOf } from "./requests/answer_of.ts";
import { evictedHeader } from "./requests/evicted_cookie.ts";
import { foreignForm, giveToken, TOKEN_FIELD } from "./requests/form_token.ts";
import { LeaseEnds } from "./state/lease_ends.ts";
import { lockModel } from "./state/lock_model.ts";
import { evictPage, HOLDERS_FIELD } from "./pages/evict.ts";
import { layout, type Surroundings } from "./pages/layout.ts";
import { readLock } from "./state/reading.ts";
import { RequestError } from "./requests/request_error.ts";
import { HEADERS, htmlResponse } from "./requests/responses.ts";

/** The longest form that is read, in bytes. */
const MAX_FORM = 4_096;

/** The description of the dashboard, which the former holder is told beside host and process. */
const META = { command: "dashboard" };

/** Answers with the page that asks whether to evict the holders of a lock. */
export async function askEviction(
  request: Request,
  store: Store,
  name: string,
  clock: Clock,
  at: Surroundings,
  problem?: string,
): Promise<Response> {
  const state = await readLock(store, name, clock);
  const { token, header } = giveToken(request, at.base);
  const form = { token, holders: await fingerprint(state), problem };
  const page = layout(evictPage(lockModel(state, new LeaseEnds(), clock.now()), form, at), at);
  return htmlResponse(page, at.nonce, problem === undefined ? 200 : 409, { "set-cookie": header });
}

/**
 * Evicts the holders of a lock if the form comes from the page that asks, and the holders are the same as on the page.
 */
export async function evict(
  request: Request,
  store: Store,
  name: string,
  clock: Clock,
  at: Surroundings,
): Promise<Response> {
  const form = await readForm(request);
  const foreign = foreignForm(request, form.get(TOKEN_FIELD));
  if (foreign !== undefined) {
    throw new RequestError(403, `Nothing was evicted: ${foreign}. Open the page of the lock and evict from there.`);
  }
  const state = await readLock(store, name, clock);
  const asShown = form.get(HOLDERS_FIELD) === await fingerprint(state);
  // By their handles: meanwhile another one may have been granted the lock.
  const evictions = (asShown ? state.held : []).map(({ handle }) => {
    return answerOf(() => store.evict!(name, { handle, meta: META }), clock);
  });
  const counts = await Promise.all(evictions);
  const lost = state.held.filter((_, i) => (counts[i] ?? 0) > 0);
  if (lost.length === 0) {
    const problem = "Nothing was evicted: the lock has another holder than the page showed. Look again.";
    return await askEviction(request, store, name, clock, at, problem);
  }
  return new Response(null, {
    status: 303,
    headers: {
      ...HEADERS,
      location: address(at.base, "lock", { name, evicted: lost.length }),
      "set-cookie": await evictedHeader(request, at.base, { ...state, held: lost }),
    },
  });
}

async function readForm(request: Request): Promise<URLSearchParams> {
  const [type] = (request.headers.get("content-type") ?? "").split(";");
  if (type?.trim().toLowerCase() !== "application/x-www-form-urlencoded") {
    throw new RequestError(415, "The form must be of the type application/x-www-form-urlencoded.");
  }
  const text = new TextDecoder().decode(await readBody(request));
  return new URLSearchParams(text);
}

async function readBody(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    chunks.push(read.value);
    length += read.value.length;
    if (length > MAX_FORM) {
      await reader?.cancel();
      throw new RequestError(413, "The form is too long.");
    }
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

/** Returns a text for the holders of a lock, which changes as soon as a holder has changed. */
async function fingerprint({ held }: ListedLock): Promise<string> {
  const handles = held.map(({ handle }) => handle).sort();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(handles)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
