import { StoreError } from "../contract/errors.ts";
import { warnOnce } from "../internal/process/warning.ts";
import type { Backend } from "./backend.ts";

/** Warns once of a missing right, unless the backend was closed. Other failures of work in the background pass. */
export function warnOfRefusal(kind: string, what: string, error: unknown, { closed }: Pick<Backend, "closed">): void {
  if (!closed && error instanceof StoreError && error.permanent) warnOnce(kind, `${what}: ${error.message}`);
}
