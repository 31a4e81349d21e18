import { StoreError } from "../../errors.ts";
import { reason } from "../../internal/reason.ts";
import { show } from "../../internal/validation.ts";
import type { Attempt, Meta, Renewal } from "../../store.ts";
import { FORMAT, hasFields, parse } from "./request.ts";

/** What an object answers to each request. */
export interface ObjectReplies {
  readonly attempt: Attempt;
  readonly renew: Renewal;
  readonly release: boolean;
  readonly succeed: null;
  readonly evict: number;
  /** Whether another attempt is worthwhile. */
  readonly wait: boolean;
  /** Whether the lock was revoked, and by whom. */
  readonly watch: { readonly revoked: boolean; readonly by?: Meta | undefined };
}

/** Returns the response with what a call has come to. */
export function replyWith(reply: ObjectReplies[keyof ObjectReplies]): Response {
  const text = JSON.stringify(
    { holdfast: FORMAT, reply },
    (_, value) => typeof value === "bigint" ? `${value}` : value,
  );
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** Returns the response with how a call has failed. A `StoreError` says that nothing was done. */
export function replyWithError(error: unknown): Response {
  const isUndone = error instanceof StoreError;
  const fields = { message: reason(error), isUndone, isPermanent: isUndone && error.permanent };
  return Response.json({ holdfast: FORMAT, error: fields }, { status: isUndone ? 409 : 500 });
}

/** Reads a response. Throws the error that it says, or one that it is none of a lock object. */
export function parseReply<T>(status: number, text: string): T {
  const reply = parse(text);
  if (!hasFields(reply, { holdfast: (value) => value === FORMAT })) throw foreignError(status, text);
  const { error } = reply;
  if (error === undefined) return reply["reply"] as T;
  const { message, isUndone, isPermanent } = error as { message: string; isUndone: boolean; isPermanent: boolean };
  throw isUndone ? new StoreError(message, { permanent: isPermanent }) : new Error(message);
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
