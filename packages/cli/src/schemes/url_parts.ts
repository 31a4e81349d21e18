import { shown } from "../terminal/shown.ts";
import type { Fail } from "./address.ts";

/** Throws if a URL has a fragment, or parameters other than the known ones and further hosts. */
export function checkParameters(url: URL, known: readonly string[], fail: Fail): void {
  const other = [...url.searchParams.keys()].find((parameter) => !["host", ...known].includes(parameter));
  if (other !== undefined) throw fail(`has the parameter ${shown(other)}: known are ${known.join(", ")}`);
  if (url.hash !== "") throw fail("has a #: write it as %23");
}

/** Returns a part of a URL, with its escapes decoded. */
export function decoded(text: string, fail: Fail): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw fail("has a % that begins no escape: write it as %25");
  }
}
