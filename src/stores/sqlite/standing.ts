import { type Claim, type Conflict, holdOf, type Kind, kindOf } from "../../store.ts";
import { partyOf } from "../../_party.ts";
import type { Statements } from "./statements.ts";

/** Behind all tickets. */
const END = Number.MAX_SAFE_INTEGER;

/** How a lock stands for a claim. */
export interface Standing {
  /** Whether the claim can be granted; or what makes waiting useless. */
  readonly outcome: "free" | "busy" | Conflict;
  /** What the lock is; without holders, what the claim would make of it. */
  readonly kind: Kind;
  /** How many hold it. */
  readonly holds: number;
  /** Whether there are leases that have ended. */
  readonly lapsed: boolean;
  /** Whether a lease ends later than if it began now: the clock was set back. */
  readonly late: boolean;
  /** The fence of the party, if that holds the lock. */
  readonly fence: number | undefined;
  /** When the first lease ends, in milliseconds; 0 without holders. */
  readonly left: number;
  /** The place of the claim in the queue, if it has one. */
  readonly ticket: number | undefined;
  /** How many live waiters are ahead of it. */
  readonly ahead: number;
}

/** Finds out how a lock stands for a claim, which may know its place in the queue. */
export function look(run: Statements, claim: Claim, place: number | undefined, now: number): Standing {
  const { name } = claim;
  const asked = kindOf(claim);
  const holders = run.holders.get(partyOf(claim), now, now, name)!;
  const ticket = place ?? run.ticket.get(name, holdOf(claim))?.["ticket"] as number | undefined;
  const queue = run.ahead.get(asked, name, ticket ?? END, now)!;
  const holds = Number(holders["holds"]);
  const kind = holds === 0 ? asked : holders["kind"] as Kind;
  const own = holders["fence"] !== null;
  const outcome = () => {
    if (own) return kind === "exclusive" || kind === asked ? "free" : { present: kind, own };
    // Those ahead who can hold it beside this one do not hold it up: each takes its place when it asks again.
    const fits = holds === 0 || kind === asked && kind !== "exclusive";
    const taken = () => Number(run.taken.get(name, now, name, ticket ?? END, now)?.["taken"]);
    if (fits && queue["apart"] === 0 && (typeof kind !== "number" || taken() < kind)) return "free";
    // Who stands in the queue came when things were otherwise, and they may be so again.
    return ticket !== undefined || permitsOf(kind) === permitsOf(asked) ? "busy" : { present: kind, own };
  };
  return {
    outcome: outcome(),
    kind,
    holds,
    lapsed: Number(holders["entries"]) > holds,
    late: Number(holders["late"]) > 0,
    fence: own ? Number(holders["fence"]) : undefined,
    left: Number(holders["left"]),
    ticket,
    ahead: Number(queue["ahead"]),
  };
}

/** How many may hold a lock at once, those who share it aside. */
function permitsOf(kind: Kind): number {
  return typeof kind === "number" ? kind : Infinity;
}
