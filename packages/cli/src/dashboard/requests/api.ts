import type { Clock } from "../../internal/time/clock.ts";
import type { ListedLock } from "../../internal/listing/locks.ts";
import type { Store } from "../../store.ts";
import { type PageQuery, readLock, readPage } from "../state/reading.ts";
import { jsonResponse } from "./responses.ts";

/** Answers with a page of the locks, as JSON. */
export async function apiList(store: Store, query: PageQuery, clock: Clock): Promise<Response> {
  const { locks, cursor } = await readPage(store, query, clock);
  return jsonResponse({ locks: locks.map(documentOf), ...cursor === undefined ? {} : { cursor } });
}

/** Answers with one lock, as JSON. */
export async function apiLock(store: Store, name: string, clock: Clock): Promise<Response> {
  return jsonResponse(documentOf(await readLock(store, name, clock)));
}

/** The entries without the name of the lock. A fence is text: JSON has no whole numbers of this size. */
function documentOf({ name, held, pending }: ListedLock): unknown {
  return {
    name,
    held: held.map(({ name: _, fence, ...entry }) => ({ ...entry, fence: fence?.toString() })),
    pending: pending.map(({ name: _, ...entry }) => entry),
  };
}
