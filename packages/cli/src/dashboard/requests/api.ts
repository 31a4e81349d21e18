import type { Store } from "@holdfast/lock";
import type { Clock } from "../../time/clock.ts";
import type { ListedLock } from "../../listing/locks.ts";
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

/** Returns a lock as JSON, its entries without the name. A fence is text: JSON has no whole numbers of this size. */
function documentOf({ name, held, pending }: ListedLock): unknown {
  return {
    name,
    held: held.map(({ name: _, fence, ...entry }) => ({ ...entry, fence: fence?.toString() })),
    pending: pending.map(({ name: _, ...entry }) => entry),
  };
}
