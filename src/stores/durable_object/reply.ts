import { StoreError } from "../../errors.ts";
import { reason } from "../../internal/reason.ts";
import { show } from "../../internal/validation.ts";
import type { Attempt, Meta, Renewal } from "../../store.ts";
import { fits, FORMAT, parse } from "./request.ts";

/** What an object answers to each request. */
export interface ObjectReplies {
  readonly attempt: Attempt;
  readonly renew: Renewal;
  readonly release: boolean;
  readonly succeed: null;
  readonly evict: number;
  /** Whether another attempt is worthwhile. */
  readonly wait: boolean;
  /** Who has revoked the lock, as far as that is known; `null` if nobody has. */
  readonly watch: Meta | null;
}

/** What a call has come to, as it is sent. */
interface ReplyFields {
  readonly reply?: ObjectReplies[keyof ObjectReplies];
  readonly error?: { readonly message: string; readonly isUndone: boolean; readonly isPermanent: boolean };
}

/** Returns the response with the reply to a call. */
export function replyWith(reply: ObjectReplies[keyof ObjectReplies]): Response {
  return respond({ reply }, 200);
}

/** Returns the response with how a call has failed. A `StoreError` says that nothing was done. */
export function replyWithError(error: unknown): Response {
  const isUndone = error instanceof StoreError;
  const fields = { message: reason(error), isUndone, isPermanent: isUndone && error.permanent };
  return respond({ error: fields }, isUndone ? 409 : 500);
}

function respond(fields: ReplyFields, status: number): Response {
  const text = JSON.stringify(
    { holdfast: FORMAT, ...fields },
    (_, value) => typeof value === "bigint" ? `${value}` : value,
  );
  return new Response(text, { status });
}

/** Reads a response. Throws the error that it says, or one that it is none of a lock object. */
export function parseReply<T>(status: number, text: string): T {
  const fields = parse(text);
  if (!fits(fields, { holdfast: "number" }) || fields["holdfast"] !== FORMAT) throw foreignError(status, text);
  const { reply, error } = fields as ReplyFields;
  if (error === undefined) return reply as T;
  throw error.isUndone ? new StoreError(error.message, { permanent: error.isPermanent }) : new Error(error.message);
}

/** Returns an attempt, whose fence comes as text. */
export function parseAttempt(attempt: Attempt): Attempt {
  return attempt.granted ? { ...attempt, fence: BigInt(attempt.fence) } : attempt;
}

/** Returns the error for a request that has failed on its way. */
export function failed(cause: unknown): Error {
  const isOverloaded = typeof cause === "object" && cause !== null && Reflect.get(cause, "overloaded") === true;
  const message = `the Durable Object ${isOverloaded ? "is overloaded" : "did not answer"}: ${reason(cause)}`;
  // An object that is overloaded has refused the request. Else it may have been executed, or still be on its way.
  return isOverloaded ? new StoreError(message, { cause }) : new Error(message, { cause });
}

function foreignError(status: number, text: string): Error {
  const got = `status ${status}, ${show(text)}`;
  if (status >= 500 || status === 429) return new Error(`the Durable Object did not answer: ${got}`);
  return new StoreError(`the class of the binding must be LockObject of this version: its object answers ${got}`, {
    permanent: true,
  });
}
