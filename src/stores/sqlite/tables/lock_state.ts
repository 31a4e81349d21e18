import { ownerKey, permitsOf } from "../../../rules/occupancy.ts";
import { type Claim, type Conflict, handleOf, type Kind, kindOf } from "../../../contract/store.ts";
import type { Statements } from "./statements.ts";

const END = Number.MAX_SAFE_INTEGER;

/** One client's view of the other clients at one moment. */
export interface LockView {
  readonly client: number;
  /** The moment, in milliseconds of the wall clock. */
  readonly now: number;
  /** After how many milliseconds without a heartbeat another client is dead. `Infinity`: this client cannot judge. */
  readonly deadAfter: number;
}

/** The state of a lock in the view of one claim. */
export interface LockState {
  /** Whether the claim can be granted; or the conflict that makes waiting useless. */
  readonly outcome: "free" | "busy" | Conflict;
  /** Whether the file has holders whose leases have ended. */
  readonly expired: boolean;
  /** Whether a lease ends later than if it began now: the clock was set back. */
  readonly overlong: boolean;
  /** The fence of the claim's owner, if the owner holds the lock. */
  readonly ownFence: number | undefined;
  /** The latest fence of the holders; 0 without holders. */
  readonly newestFence: number;
  /** In how many milliseconds the first lease ends; 0 without holders. */
  readonly endsIn: number;
  readonly ticket: number | undefined;
}

/** Reads the state of a lock. `known` is the ticket of the claim, if its process knows it. */
export function readLockState(run: Statements, claim: Claim, known: number | undefined, view: LockView): LockState {
  const { name } = claim;
  const row = run.holders.get(ownerKey(claim), view.now, view.now, name)!;
  const ticket = known ?? run.ticket.get(name, handleOf(claim))?.["ticket"] as number | undefined;
  const holders = Number(row["holders"]);
  const own = row["ownFence"] !== null;
  const present = row["kind"] === row["otherKind"] ? row["kind"] as Kind : "exclusive";
  const kind = holders === 0 ? kindOf(claim) : present;
  const outcome = own ? outcomeOfOwner(claim, kind) : outcomeOf(run, claim, { holders, kind, ticket, view });
  return {
    outcome,
    expired: Number(row["entries"]) > holders,
    overlong: Number(row["overlong"]) > 0,
    ownFence: own ? Number(row["ownFence"]) : undefined,
    newestFence: Number(row["newestFence"]),
    endsIn: Number(row["endsIn"]),
    ticket,
  };
}

/** Returns whether a claim can be granted whose owner holds the lock. It cannot wait: it would wait for itself. */
function outcomeOfOwner(claim: Claim, kind: Kind): LockState["outcome"] {
  return kind === "exclusive" || kind === kindOf(claim) ? "free" : { present: kind, own: true };
}

/** The facts that decide on a claim whose owner does not hold the lock. */
interface Circumstances {
  readonly holders: number;
  /** The kind of the holders; without holders, the kind of the claim. */
  readonly kind: Kind;
  readonly ticket: number | undefined;
  readonly view: LockView;
}

function outcomeOf(run: Statements, claim: Claim, circumstances: Circumstances): LockState["outcome"] {
  const { holders, kind, ticket, view } = circumstances;
  const asked = kindOf(claim);
  const fits = holders === 0 || kind === asked && kind !== "exclusive";
  if (fits && isNext(run, claim, ticket, view)) return "free";
  // A queued claim was no conflict when it came, and may be none again.
  return ticket !== undefined || permitsOf(kind) === permitsOf(asked) ? "busy" : { present: kind, own: false };
}

/** Returns whether every waiter ahead of the claim can hold the lock beside it. */
function isNext(run: Statements, claim: Claim, known: number | undefined, view: LockView): boolean {
  const { name } = claim;
  const { client, now, deadAfter } = view;
  const ticket = known ?? END;
  const kind = kindOf(claim);
  if (run.blocked.get(name, ticket, client, now, deadAfter, kind) !== undefined) return false;
  if (typeof kind !== "number") return true;
  const taken = run.permitsTaken.get(name, now, name, ticket, client, now, deadAfter, kind)?.["taken"];
  return Number(taken) < kind;
}
