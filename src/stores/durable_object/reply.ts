import { StoreError } from "../../contract/errors.ts";
import { mayBeDone } from "../../internal/failure.ts";
import { reason } from "../../internal/reason.ts";
import { show } from "../../internal/validation.ts";
import type { Attempt, Meta, Renewal } from "../../contract/store.ts";
import { fits, FORMAT, parse, type Shape } from "./request.ts";

export interface ObjectReplies {
  readonly attempt: Attempt;
  readonly renew: Renewal;
  readonly release: boolean;
  readonly succeed: null;
  readonly evict: number;
  /** Whether another attempt is worthwhile. */
  readonly wait: boolean;
  /** The `meta` of the revoker, as far as known; `null` if the lock was not revoked. */
  readonly watch: Meta | null;
}

const REPLIES: Readonly<Record<keyof ObjectReplies, Shape>> = {
  attempt: { granted: "boolean", fence: "string|undefined" },
  renew: ["renewed", "lost"],
  release: "boolean",
  succeed: "object",
  evict: "number",
  wait: "boolean",
  watch: "object",
};

/** The outcome of a call, as it is sent. */
interface ReplyFields {
  readonly reply?: ObjectReplies[keyof ObjectReplies];
  readonly error?: { readonly message: string; readonly isUndone: boolean; readonly isPermanent: boolean };
}

export function replyWith(reply: ObjectReplies[keyof ObjectReplies]): Response {
  return respond({ reply }, 200);
}

/** Returns the response for a failed call. A `StoreError` says that nothing was done. */
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

/** Reads the response to a request. Throws its error, or an error if it does not come from a lock object. */
export function parseReply<What extends keyof ObjectReplies>(
  what: What,
  status: number,
  text: string,
): ObjectReplies[What] {
  const fields = parse(text);
  if (!fits(fields, { holdfast: "number" }) || fields["holdfast"] !== FORMAT) throw foreignError(status, text);
  const { reply, error } = fields as ReplyFields;
  if (error === undefined) {
    if (fits(reply, REPLIES[what])) return reply as ObjectReplies[What];
    // The call may have been executed.
    throw new Error(`the Durable Object answered to ${what} what is no reply to that: ${show(text)}`);
  }
  throw error.isUndone ? new StoreError(error.message, { permanent: error.isPermanent }) : new Error(error.message);
}

/** Returns an attempt, whose fence arrives as text. */
export function parseAttempt(attempt: Attempt): Attempt {
  return attempt.granted ? { ...attempt, fence: BigInt(String(attempt.fence)) } : attempt;
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
  if (mayBeDone(status, text)) return new Error(`the Durable Object did not answer: ${got}`);
  return new StoreError(`the class of the binding must be LockObject of this version: its object answers ${got}`, {
    permanent: true,
  });
}
