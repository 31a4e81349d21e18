import { counted } from "../display/counted.ts";
import type { EvictOptions, HolderEntry } from "@holdfast/lock";
import type { OpenedStore } from "../schemes/scheme.ts";
import { answerOf } from "../terminal/answer.ts";
import { shown } from "../terminal/shown.ts";
import { holderName, placeOf } from "./listing.ts";

/** The description of the evicting program, which the former holder is told beside host and process. */
const META = { command: "holdfast evict" };

/** The result of an eviction. */
export interface Outcome {
  readonly evicted: number;
  /**
   * The holders that lost the lock, and the holders that no longer had it; `undefined` where the store lists no
   * holders.
   */
  readonly lost?: readonly HolderEntry[];
  readonly gone?: readonly HolderEntry[];
}

/** Takes the lock from these holders, each by its handle; from all holders where they are not known. */
export async function take(
  opened: OpenedStore,
  name: string,
  holders: readonly HolderEntry[] | undefined,
  fence: bigint | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const one = async (named: EvictOptions) => {
    return await answerOf(opened, Promise.resolve(opened.store.evict!(name, { ...named, meta: META })), signal);
  };
  if (holders === undefined) return { evicted: await one({ fence }) };
  const taken = await Promise.all(holders.map(({ handle }) => one({ handle })));
  const lost = holders.filter((_, i) => taken[i]! > 0);
  return { evicted: lost.length, lost, gone: holders.filter((_, i) => taken[i] === 0) };
}

/** Returns the holders as text, each with its fence. */
export function named(holders: readonly HolderEntry[]): string {
  return holders.map((holder) => {
    return holderName(holder) + (holder.fence === undefined ? "" : ` (fence ${holder.fence})`);
  }).join(", ");
}

/** Returns the message about an eviction. */
export function result(
  opened: OpenedStore,
  name: string,
  { evicted, lost, gone = [] }: Outcome,
  fence: bigint | undefined,
): string[] {
  const who = lost === undefined ? counted(evicted, "handle") : named(lost);
  if (evicted === 0 && gone.length === 0) {
    return [`Nobody held ${shown(name)}${fence === undefined ? "" : ` with fence ${fence}`}${placeOf(opened)}`];
  }
  return [
    ...evicted === 0 ? [] : [`Took ${shown(name)} away from ${who}.`],
    ...gone.map((holder) => `${holderName(holder)} held ${shown(name)} no more: nothing was taken from anybody else.`),
  ];
}
