import { LockTimeoutError, StoreError } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import { UsageError } from "./command.ts";
import { oneLine } from "./terminal/shown.ts";

/** The exit statuses of every verb, with the values of `sysexits.h` where it has one. */
export const STATUS = { ok: 0, failed: 1, usage: 2, unavailable: 69, busy: 75 } as const;

/** How a failure ends a command. */
export interface Failure {
  readonly status: number;
  /** The message: one line, unless the program itself has a fault. */
  readonly message: string;
}

/** The words of Deno when it denies a permission. */
const DENIED = /Requires (\w+) access(?: to (?:"([^"]*)"|<([^>]*)>))?, run again with the (--allow-[\w-]+) flag/;

/** Returns the exit status for an error, and the message. */
export function failureOf(error: unknown): Failure {
  const denied = chain(error).map((each) => DENIED.exec(reason(each))).find((match) => match !== null);
  if (denied) {
    const [, access, exact, vague, flag] = denied;
    const to = exact ?? vague;
    // A client library reads many variables: one flag for each would be a long way.
    const value = exact === undefined || access === "env" ? "" : `=${exact}`;
    const message = `Deno denies ${access} access${to === undefined ? "" : ` to ${to}`}: run with ${flag}${value}`;
    return { status: STATUS.usage, message: oneLine(message) };
  }
  const message = oneLine(reason(error));
  if (error instanceof UsageError) return { status: STATUS.usage, message };
  if (error instanceof LockTimeoutError) return { status: STATUS.busy, message };
  if (error instanceof StoreError) return { status: STATUS.unavailable, message };
  // A system error has a code. All else is a fault of this program, which needs to be found.
  const known = error instanceof Error && typeof (error as { code?: unknown }).code === "string";
  return { status: STATUS.failed, message: known || !(error instanceof Error) ? message : error.stack ?? message };
}

/**
 * Returns a message for the standard error. Each line names the program, because cron mails it with the lines of
 * others.
 */
export function errorText(message: string): string {
  return message.split("\n").map((line) => `holdfast: ${line}\n`).join("");
}

/** Yields an error and all errors inside it. */
function chain(error: unknown): unknown[] {
  const found = new Set([error]);
  for (const each of found) {
    const { cause, errors, error: thrown, suppressed } = Object(each);
    for (const inner of [cause, thrown, suppressed, ...Array.isArray(errors) ? errors : []]) {
      if (inner !== undefined) found.add(inner);
    }
  }
  return [...found];
}
