import { StoreError } from "../../errors.ts";
import { LockRecord, type RecordHolder, type RecordWaiter } from "../../internal/lock_record/lock_record.ts";
import { show } from "../../internal/validation.ts";
import { type Claim, handleOf, type Kind, kindOf } from "../../store.ts";

/** The version of the format of documents. */
const FORMAT = 1;

/** A handle that holds a lock. */
export interface DocumentHolder extends RecordHolder<DocumentWaiter> {
  /** How long its lease lasts from the grant or the last renewal on, in milliseconds. */
  lease: number;
  /** When the lease ends: by the server's clock, or by the clock of the holder where the server has none. */
  end: number;
  /** Another number after each grant and renewal: who sees the same one for the whole lease knows that this is over. */
  beat: number;
  /** The largest number of a renewal that was executed. */
  renewal: number;
}

/** A handle that is in the queue of a lock. */
export interface DocumentWaiter extends RecordWaiter {
  /** The id of its store object. */
  readonly store: string;
  /** The last roll call that its store object has answered. */
  roll: number;
}

/** The turn of the waiter at the head of the queue: it can acquire the lock. */
export interface Turn {
  readonly handle: string;
  readonly number: number;
  /** Since when, by the same clock as {@linkcode DocumentHolder.end}. */
  readonly since: number;
}

/** The question to all store objects whether their waiters are alive. */
export interface RollCall {
  readonly number: number;
  /** Since when, by the same clock as {@linkcode DocumentHolder.end}. */
  readonly since: number;
}

/** The last revocation. */
export interface Revocation {
  /** The ids of the handles that lost the lock. */
  readonly handles: readonly string[];
  /** The `meta` of the revoker. */
  readonly by?: string | undefined;
}

/** A whole lock, as it is kept under its name. */
export class LockDocument extends LockRecord<DocumentHolder, DocumentWaiter> {
  /** The last fence that was issued. */
  fence = 0n;
  /** The last number of a beat, a turn, a ticket or a roll call. It never falls. */
  counter = 0;
  /** When it was last written, by the same clock as {@linkcode DocumentHolder.end}. */
  used = 0;
  turn: Turn | undefined;
  /** The last roll call. */
  rollCall: RollCall = { number: 0, since: 0 };
  revoked: Revocation | undefined;

  /** Whether nobody holds the lock or waits for it. */
  get unused(): boolean {
    return this.holders.size === 0 && this.queue.length === 0;
  }

  /** Makes the claim's handle a holder, or prolongs its lease: one that ends later is kept, as its holder trusts it already. */
  grant(claim: Claim, fence: bigint, now: number, run: readonly DocumentWaiter[]): DocumentHolder {
    const { lease, renewal = 0 } = claim;
    const handle = handleOf(claim);
    const known = this.holders.get(handle);
    // A clock that was set back since would make it longer.
    const end = Math.max(now + lease, known === undefined ? 0 : Math.min(known.end, now + known.lease));
    const holder: DocumentHolder = {
      claim,
      grantedAt: known?.grantedAt ?? Math.floor(now),
      fence,
      lease: Math.max(lease, end - now),
      end,
      beat: ++this.counter,
      renewal: Math.max(renewal, known?.renewal ?? 0),
      run: run.length > 0 ? run : known?.run ?? [],
    };
    this.holders.set(handle, holder);
    return holder;
  }
}

/** A claim as the document has it. */
interface ClaimFields {
  readonly handle: string;
  /** The caller's `owner`; left out if that is the handle. */
  readonly owner?: string | undefined;
  readonly kind: Kind;
  readonly meta?: string | undefined;
}

interface WaiterFields extends ClaimFields {
  readonly ticket: number;
  readonly since: number;
  readonly store: string;
  readonly roll?: number | undefined;
  readonly group?: string | undefined;
}

interface HolderFields extends ClaimFields {
  readonly fence: string;
  readonly since: number;
  readonly lease: number;
  readonly end: number;
  readonly beat: number;
  readonly renewal?: number | undefined;
  readonly run?: readonly WaiterFields[] | undefined;
}

interface Fields {
  readonly holdfast: number;
  readonly name: string;
  readonly fence: string;
  readonly counter: number;
  readonly used: number;
  readonly turn?: Turn | undefined;
  readonly rollCall?: RollCall | undefined;
  readonly revoked?: Revocation | undefined;
  readonly holders: readonly HolderFields[];
  readonly queue: readonly WaiterFields[];
}

/** Returns the text of a document: JSON, which people and other programs may read. */
export function formatDocument(name: string, document: LockDocument): string {
  const { fence, counter, used, turn, rollCall, revoked, holders, queue } = document;
  const fields: Fields = {
    holdfast: FORMAT,
    name,
    fence: String(fence),
    counter,
    used: Math.floor(used),
    turn,
    rollCall: rollCall.since > 0 ? rollCall : undefined,
    revoked,
    holders: Array.from(holders.values(), holderFields),
    queue: queue.map(waiterFields),
  };
  return JSON.stringify(fields);
}

/** Returns the text of a waiter in a document. */
export function formatWaiter(waiter: DocumentWaiter): string {
  return JSON.stringify(waiterFields(waiter));
}

/** Reads the text of a document; an empty one if there is no text. */
export function parseDocument(name: string, text: string | undefined): LockDocument {
  const document = new LockDocument();
  if (text === undefined) return document;
  try {
    const fields: Fields = JSON.parse(text);
    if (fields.holdfast !== FORMAT) throw new Error(`its format is ${show(fields.holdfast)}, not ${FORMAT}`);
    document.fence = BigInt(fields.fence);
    document.counter = fields.counter;
    document.used = fields.used;
    document.turn = fields.turn;
    document.rollCall = fields.rollCall ?? document.rollCall;
    document.revoked = fields.revoked;
    for (const waiter of fields.queue) document.queue.push(waiterOf(name, waiter));
    for (const holder of fields.holders) document.holders.set(holder.handle, holderOf(name, holder));
    return document;
  } catch (cause) {
    const message = `What is kept for lock "${name}" is no document of this version: ${show(text)}`;
    throw new StoreError(message, { permanent: true, cause });
  }
}

// Object literals without a spread: they take half the time.

function waiterFields({ claim, ticket, queuedAt, store, roll }: DocumentWaiter): WaiterFields {
  return {
    handle: handleOf(claim),
    owner: ownerOf(claim),
    kind: kindOf(claim),
    meta: claim.meta,
    ticket,
    since: queuedAt,
    store,
    roll: roll || undefined,
    group: claim.group,
  };
}

function holderFields({ claim, fence, grantedAt, lease, end, beat, renewal, run }: DocumentHolder): HolderFields {
  return {
    handle: handleOf(claim),
    owner: ownerOf(claim),
    kind: kindOf(claim),
    meta: claim.meta,
    fence: String(fence),
    since: grantedAt,
    lease,
    end,
    beat,
    renewal: renewal || undefined,
    run: run.length === 0 ? undefined : run.map(waiterFields),
  };
}

/** Returns the caller's `owner`, if there is one. */
function ownerOf({ owner, handle }: Claim): string | undefined {
  return handle === undefined ? undefined : owner;
}

function claimOf(name: string, { handle, owner, kind, meta }: ClaimFields, lease: number, group?: string): Claim {
  const isSemaphore = typeof kind === "number";
  return {
    name,
    owner: owner ?? handle,
    handle: owner === undefined ? undefined : handle,
    mode: isSemaphore ? "exclusive" : kind,
    permits: isSemaphore ? kind : undefined,
    lease,
    group,
    meta,
  };
}

function waiterOf(name: string, fields: WaiterFields): DocumentWaiter {
  const { ticket, since, store, roll = 0, group } = fields;
  return { claim: claimOf(name, fields, 0, group), ticket, queuedAt: since, store, roll };
}

function holderOf(name: string, fields: HolderFields): DocumentHolder {
  const { fence, since, lease, end, beat, renewal = 0, run = [] } = fields;
  const claim = claimOf(name, fields, lease);
  const members = run.map((member) => waiterOf(name, member));
  return { claim, grantedAt: since, fence: BigInt(fence), lease, end, beat, renewal, run: members };
}
