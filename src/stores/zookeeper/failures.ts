import { StoreError } from "../../contract/errors.ts";
import { reason } from "../../internal/reason.ts";

/** The code of the error of a request that was not sent, or whose answer was lost. */
export const CONNECTION_LOSS = -4;

/** The code for an unknown user. */
export const AUTH_FAILED = -115;

export const NO_NODE = -101;
const NO_AUTH = -102;
const BAD_VERSION = -103;
export const NODE_EXISTS = -110;
const INVALID_ACL = -114;

export class ZookeeperFault extends Error {
  override readonly name = "ZookeeperFault";
  readonly code: number;

  constructor(code: number, what: string) {
    super(code === CONNECTION_LOSS ? `CONNECTION_LOSS: ${what}` : `ZooKeeper answers to ${what} with the code ${code}`);
    this.code = code;
  }
}

export function isMissing(error: unknown): boolean {
  return codeOf(error) === NO_NODE;
}

/** Returns whether a write was refused because another came first. */
export function isRefused(error: unknown): boolean {
  return [NO_NODE, BAD_VERSION, NODE_EXISTS].includes(codeOf(error));
}

/** Returns the code of an error; 0 if it has none. */
export function codeOf(error: unknown): number {
  return (Object(error) as { readonly code?: number }).code ?? 0;
}

/** Returns the error that a call rejects with: a `StoreError` if nothing was done and no retry helps. */
export function failureOf(cause: unknown): unknown {
  const code = codeOf(cause);
  const refused = (message: string) => new StoreError(message, { permanent: true, cause });
  if (code === NO_AUTH) {
    const needed = "It needs READ, WRITE, CREATE, DELETE and ADMIN (cdrwa) on the node of the locks and those below it";
    return refused(`ZooKeeper does not let the client do that (NO_AUTH). ${needed}`);
  }
  if (code === AUTH_FAILED) return refused(`ZooKeeper does not know this authentication: ${reason(cause)}`);
  if (code === INVALID_ACL) return refused(`ZooKeeper refuses the access control list: ${reason(cause)}`);
  return cause;
}
