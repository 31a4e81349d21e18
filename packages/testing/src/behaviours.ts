import type { Capability } from "@holdfast/lock";
import { atLeast } from "./behaviours/at_least.ts";
import { crowds } from "./behaviours/crowds.ts";
import { entries, ownerEntries } from "./behaviours/entries.ts";
import { everyStore } from "./behaviours/every_store.ts";
import { evict } from "./behaviours/evict.ts";
import { fences, stolenFences } from "./behaviours/fences.ts";
import { leases } from "./behaviours/leases.ts";
import { names } from "./behaviours/names.ts";
import { owners, permitOwners, sharedOwners } from "./behaviours/owners.ts";
import { permits } from "./behaviours/permits.ts";
import { query } from "./behaviours/query.ts";
import { queues } from "./behaviours/queues.ts";
import { listedRuns, runs } from "./behaviours/runs.ts";
import { shared } from "./behaviours/shared.ts";
import { steal } from "./behaviours/steal.ts";
import type { Behaviours } from "./fixture.ts";

/** Behaviours of the stores that declare all of these capabilities. */
type Optional = readonly [capabilities: readonly Capability[], behaviours: Behaviours];

const OPTIONAL: readonly Optional[] = [
  [["shared"], shared],
  [["permits"], permits],
  [["owner"], owners],
  [["owner", "shared"], sharedOwners],
  [["owner", "shared", "permits"], permitOwners],
  [["steal"], steal],
  [["evict"], evict],
  [["query"], query],
  [["query"], entries],
  [["query", "owner"], ownerEntries],
  [["fences"], fences],
  [["fences", "steal"], stolenFences],
  [["runs"], runs],
  [["query", "runs"], listedRuns],
];

/** Returns the behaviours of a store with these capabilities. */
export function behavioursOf(capabilities: readonly Capability[]): Behaviours {
  const optional = OPTIONAL.filter(([needed]) => needed.every((each) => capabilities.includes(each)))
    .map(([, behaviours]) => behaviours);
  return Object.assign({}, everyStore, crowds, queues, leases, atLeast, names, ...optional);
}
