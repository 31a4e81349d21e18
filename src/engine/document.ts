import { StoreError } from "../contract/errors.ts";
import { LockRecord, type RecordHolder, type RecordWaiter } from "../rules/lock_record.ts";
import { reason } from "../internal/reason.ts";
import { show } from "../internal/validation.ts";
import { type Claim, handleOf, kindOf } from "../contract/store.ts";
import { fenceIn, kindIn, momentIn, numberIn, optionalTextIn, textIn, wrong } from "./fields.ts";

const FORMAT = 1;

/** How many writes a document remembers: more than other handles make while a network repeats one. */
const REMEMBERED_WRITES = 8;

/** A handle that holds a lock. */
export interface DocumentHolder extends RecordHolder<DocumentWaiter> {
  /** How long its lease lasts after the grant or the last renewal, in milliseconds. */
  lease: number;
  /** When the lease ends: by the server's clock, or by the clock of the holder where the server has none. */
  end: number;
  /** The number of its lease, see `Period`. */
  beat: number;
  /** The largest number of an executed renewal. */
  renewal: number;
  /** A timer of the server that ends no sooner than the lease. Each grant and renewal replaces or removes it. */
  timer?: string | undefined;
}

/** A handle that is in the queue of a lock. */
export interface DocumentWaiter extends RecordWaiter {
  /** The id of its store object. */
  readonly store: string;
}

/** The turn of the waiter at the head of the queue: it can acquire the lock. */
export interface Turn {
  readonly handle: string;
  readonly number: number;
  /** When the turn began, by the same clock as {@linkcode DocumentHolder.end}. */
  readonly since: number;
  /** A timer of the server that ends no sooner than the turn. */
  readonly timer?: string | undefined;
}

export interface Revocation {
  /** The ids of the handles that lost the lock. */
  readonly handles: readonly string[];
  /** The `meta` of the revoker. */
  readonly by?: string | undefined;
}

/** A whole lock, in the form that is kept under its name. */
export class LockDocument extends LockRecord<DocumentHolder, DocumentWaiter> {
  /** The last fence that was issued. */
  fence = 0n;
  /** The last number of a beat, a turn or a ticket. It never falls. */
  counter = 0;
  /** When the document was last written, by the same clock as {@linkcode DocumentHolder.end}. */
  used = 0;
  turn: Turn | undefined;
  revoked: Revocation | undefined;
  /** The ids of the last recorded writes, the newest last. */
  writes: readonly string[] = [];

  /** Records a write, so that its store object recognises it although a repetition was refused. */
  noteWrite(id: string): void {
    this.writes = [...this.writes, id].slice(-REMEMBERED_WRITES);
  }

  /** Whether the lock has neither holders nor waiters. */
  get unused(): boolean {
    return this.holders.size === 0 && this.queue.length === 0;
  }

  /** Makes the claim's handle a holder, or prolongs its lease. Keeps a lease that ends later: its holder trusts it. */
  grant(claim: Claim, fence: bigint, now: number, run: readonly DocumentWaiter[]): DocumentHolder {
    const { lease, renewal = 0 } = claim;
    const handle = handleOf(claim);
    const known = this.holders.get(handle);
    // If the clock was set back since, the old lease would seem longer than it is.
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

/** A waiter, a holder and the whole lock in the form of the document. JSON leaves out fields that are `undefined`. */
type WaiterFields = ReturnType<typeof waiterFields>;
type HolderFields = ReturnType<typeof holderFields>;
type DocumentFields = ReturnType<typeof documentFields>;

/** Returns the text of a document: JSON, which people and other programs may read. */
export function formatDocument(name: string, document: LockDocument): string {
  return JSON.stringify(documentFields(name, document));
}

export function formatWaiter(waiter: DocumentWaiter): string {
  return JSON.stringify(waiterFields(waiter));
}

/** Reads the text of a document; an empty one if there is no text. Throws a `StoreError` that names its fault. */
export function parseDocument(name: string, text: string | undefined): LockDocument {
  const document = new LockDocument();
  if (text === undefined) return document;
  try {
    const fields: DocumentFields = JSON.parse(text);
    if (fields.holdfast !== FORMAT) throw wrong("format", fields.holdfast);
    // A number above the counter would be given out again: an observer of a live holder would see the same beat twice.
    const counter = document.counter = numberIn("counter", fields.counter);
    document.fence = fenceIn(fields.fence);
    document.used = momentIn("used", fields.used);
    document.turn = fields.turn === undefined ? undefined : turnOf(fields.turn, counter);
    document.revoked = fields.revoked === undefined ? undefined : revocationOf(fields.revoked);
    document.writes = fields.writes?.map((id) => textIn("writes", id)) ?? [];
    for (const waiter of fields.queue) document.queue.push(waiterOf(name, waiter, counter));
    for (const holder of fields.holders) {
      document.holders.set(holder.handle, holderOf(name, holder, counter, document.fence));
    }
    return document;
  } catch (cause) {
    const message = `What is kept for lock "${name}" is no document of this version, ${reason(cause)}: ${show(text)}`;
    throw new StoreError(message, { permanent: true, cause });
  }
}

// Object literals without a spread: they take half the time.

function documentFields(
  name: string,
  { fence, counter, used, turn, revoked, writes, holders, queue }: LockDocument,
) {
  return {
    holdfast: FORMAT,
    name,
    fence: String(fence),
    counter,
    used: Math.floor(used),
    turn,
    revoked,
    writes: writes.length > 0 ? writes : undefined,
    holders: Array.from(holders.values(), holderFields),
    queue: queue.map(waiterFields),
  };
}

function waiterFields({ claim, ticket, queuedAt, store }: DocumentWaiter) {
  return {
    handle: handleOf(claim),
    owner: ownerOf(claim),
    kind: kindOf(claim),
    meta: claim.meta,
    ticket,
    since: queuedAt,
    store,
    group: claim.group,
  };
}

function holderFields({ claim, fence, grantedAt, lease, end, beat, renewal, run, timer }: DocumentHolder) {
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
    timer,
  };
}

/** Returns the caller's `owner`; `undefined` if the handle is the owner. */
function ownerOf({ owner, handle }: Claim): string | undefined {
  return handle === undefined ? undefined : owner;
}

function claimOf(name: string, fields: WaiterFields | HolderFields, lease: number, group?: string): Claim {
  const handle = textIn("handle", fields.handle);
  const owner = optionalTextIn("owner", fields.owner);
  const kind = kindIn(fields.kind);
  const isSemaphore = typeof kind === "number";
  return {
    name,
    owner: owner ?? handle,
    handle: owner === undefined ? undefined : handle,
    mode: isSemaphore ? "exclusive" : kind,
    permits: isSemaphore ? kind : undefined,
    lease,
    group: optionalTextIn("group", group),
    meta: optionalTextIn("meta", fields.meta),
  };
}

function waiterOf(name: string, fields: WaiterFields, counter: number): DocumentWaiter {
  const { ticket, since, store, group } = fields;
  return {
    claim: claimOf(name, fields, 0, group),
    ticket: numberIn("ticket", ticket, counter),
    queuedAt: momentIn("since", since),
    store: textIn("store", store),
  };
}

function holderOf(name: string, fields: HolderFields, counter: number, last: bigint): DocumentHolder {
  const { fence, since, lease, end, beat, renewal = 0, run = [], timer } = fields;
  return {
    claim: claimOf(name, fields, momentIn("lease", lease)),
    grantedAt: momentIn("since", since),
    fence: fenceIn(fence, last),
    lease,
    end: momentIn("end", end),
    beat: numberIn("beat", beat, counter),
    renewal: numberIn("renewal", renewal),
    run: run.map((member) => waiterOf(name, member, counter)),
    timer: optionalTextIn("timer", timer),
  };
}

function turnOf({ handle, number, since, timer }: Turn, counter: number): Turn {
  return {
    handle: textIn("handle", handle),
    number: numberIn("turn", number, counter),
    since: momentIn("since", since),
    timer: optionalTextIn("timer", timer),
  };
}

function revocationOf({ handles, by }: Revocation): Revocation {
  return { handles: handles.map((handle) => textIn("handles", handle)), by: optionalTextIn("by", by) };
}
