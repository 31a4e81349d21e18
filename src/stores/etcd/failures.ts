import { StoreError } from "../../contract/errors.ts";
import { causesOf, firstLine, isDenied, mayBeDone } from "../../internal/failure.ts";
import { reason } from "../../internal/reason.ts";
import type { EtcdSettings } from "./options.ts";

/** The possible effect of a failed call. */
export type EtcdFaultKind =
  /** Nothing was done, and another member may do it. */
  | "elsewhere"
  /** Nothing was done; a new token may help. */
  | "token"
  /** Nothing was done, and no retry helps. */
  | "refused"
  /** It may have been done. */
  | "unknown";

/** An error of etcd in place of a result, or a missing answer. */
export class EtcdFault extends Error {
  override readonly name = "EtcdFault";
  readonly kind: EtcdFaultKind;

  constructor(kind: EtcdFaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** The errors that concern the member, not the call. */
const ELSEWHERE = /no leader|too many requests|not capable|not supported for learner/;

/** The errors that concern the token; the last is the error of a call without a token. */
const TOKEN = /invalid auth token|revision of auth store is old|user name is empty/;

const NO_SPACE = /database space exceeded/;

/** The codes of gRPC for a wrong call: invalid, not found, denied, precondition, unimplemented, unauthenticated. */
const REFUSED: readonly unknown[] = [3, 5, 7, 9, 12, 16];

/** The errors of `fetch` in Deno, Node and Bun when it could not connect. */
const UNCONNECTED =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|\(Connect\)/;

export function faultOfFetch(url: string, error: unknown): EtcdFault {
  if (isDenied(error)) return new EtcdFault("refused", reason(error), error);
  const errors = causesOf(error);
  const said = errors.map((each) => `${Reflect.get(Object(each), "code")} ${reason(each)}`).join(" ");
  return new EtcdFault(UNCONNECTED.test(said) ? "elsewhere" : "unknown", `${url}: ${reason(errors.at(-1))}`, error);
}

/** Returns the fault for an answer without a result. */
export function faultOfAnswer(url: string, status: number, text: string): EtcdFault {
  const { message, code } = errorIn(text);
  if (message === undefined) {
    const what = `${url} does not answer as etcd does: ${status} "${firstLine(text)}"`;
    if (mayBeDone(status, text)) return new EtcdFault("unknown", what);
    const advice = "Is it etcd 3.4 or later, with its gateway turned on (--enable-grpc-gateway)?";
    return new EtcdFault("refused", `${what}. ${advice}`);
  }
  const said = `${url}: ${message}`;
  if (ELSEWHERE.test(message)) return new EtcdFault("elsewhere", said);
  if (TOKEN.test(message)) return new EtcdFault("token", said);
  return new EtcdFault(NO_SPACE.test(message) || REFUSED.includes(code) ? "refused" : "unknown", said);
}

function errorIn(text: string): { readonly message?: string; readonly code?: unknown } {
  try {
    const { error, message = error, code } = JSON.parse(text);
    return typeof message === "string" ? { message, code } : {};
  } catch {
    return {};
  }
}

/**
 * Returns the error that a call rejects with: a `StoreError` if nothing was done, with the command to run if one helps.
 */
export function failureOf(fault: unknown, settings: EtcdSettings): unknown {
  if (!(fault instanceof EtcdFault) || fault.kind === "unknown") return fault;
  const { message, kind } = fault;
  const advice = adviceFor(message, settings);
  return new StoreError(advice === undefined ? message : `${message}. ${advice}`, {
    permanent: kind !== "elsewhere",
    cause: fault,
  });
}

function adviceFor(message: string, { prefix, login }: EtcdSettings): string | undefined {
  if (NO_SPACE.test(message)) {
    return "Make room with etcdctl compact REVISION and etcdctl defrag, then run: etcdctl alarm disarm";
  }
  if (/permission denied/.test(message)) {
    return `Run: etcdctl role grant-permission ROLE readwrite --prefix=true '${prefix}'`;
  }
  if (/authentication failed/.test(message) && login.by === "password") {
    return `Correct the option password, or run: etcdctl user passwd ${login.name}`;
  }
  if (/user name is empty/.test(message)) return "Authentication is turned on: give username and password";
  return undefined;
}
