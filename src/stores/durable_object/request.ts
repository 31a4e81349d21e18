import { show } from "../../internal/validation.ts";
import type { Claim, EvictOptions } from "../../store.ts";

/** The version of the format of requests and replies. */
export const FORMAT = 1;

/** For how long an object holds a wait open, in milliseconds. */
export const HOLD_MS = 20_000;

/** What a store asks the object of a name. */
export type ObjectRequest =
  | { readonly do: "attempt"; readonly claim: Claim; readonly call: CallFields; readonly options: AttemptFields }
  | { readonly do: "release"; readonly claim: Claim; readonly call: CallFields }
  | { readonly do: "succeed"; readonly claim: Claim; readonly call: CallFields; readonly to: Claim }
  | { readonly do: "renew" | "wait" | "watch"; readonly claim: Claim }
  | { readonly do: "evict"; readonly name: string; readonly options: EvictFields };

/** Which call it is: one that comes after a later one of the same store object and handle is not executed. */
interface CallFields {
  /** The id of the store object. */
  readonly store: string;
  readonly number: number;
}

/** The options of an attempt that concern the object. */
interface AttemptFields {
  readonly enqueue: boolean;
  readonly steal: boolean;
}

/** The options of `evict()`, with the fence as text. */
interface EvictFields extends Omit<EvictOptions, "fence"> {
  readonly fence?: string | undefined;
}

/** Whether a field has a value that it may have. */
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const isWhole: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isMeta: Check = (value) => value === false || hasFields(value, {}) && Object.values(value).every(isText);
const isFence: Check = (value) => isText(value) && /^\d{1,30}$/.test(String(value));
const optional = (check: Check): Check => (value) => value === undefined || check(value);

const CLAIM: Readonly<Record<keyof Claim, Check>> = {
  name: (value) => isText(value) && value !== "",
  owner: isText,
  handle: optional(isText),
  mode: (value) => value === "exclusive" || value === "shared",
  permits: optional((value) => isWhole(value) && value !== 0),
  lease: (value) => typeof value === "number" && value > 0,
  renewal: optional(isWhole),
  fences: optional(isWhole),
  group: optional(isText),
  meta: optional(isText),
};

const claim: Check = (value) => hasFields(value, CLAIM);
const call: Check = (value) => hasFields(value, { store: isText, number: isWhole });

/** The fields of each request. */
const REQUESTS: Readonly<Record<ObjectRequest["do"], Readonly<Record<string, Check>>>> = {
  attempt: { claim, call, options: (value) => hasFields(value, { enqueue: isFlag, steal: isFlag }) },
  release: { claim, call },
  succeed: { claim, call, to: claim },
  renew: { claim },
  wait: { claim },
  watch: { claim },
  evict: {
    name: isText,
    options: (value) =>
      hasFields(value, { handle: optional(isText), fence: optional(isFence), meta: optional(isMeta) }),
  },
};

/** Returns the text of a request. */
export function formatRequest(request: ObjectRequest): string {
  return JSON.stringify({ holdfast: FORMAT, ...request });
}

/** Reads the text of a request. Throws a `TypeError` that says what is wrong with it. */
export function parseRequest(text: string): ObjectRequest {
  const request = parse(text);
  if (!hasFields(request, { holdfast: isWhole })) {
    throw new TypeError(`a lock object answers only requests of durableObject(): got ${show(text)}`);
  }
  if (request["holdfast"] !== FORMAT) {
    throw new TypeError(`the format of the request is ${request["holdfast"]}, that of the object is ${FORMAT}`);
  }
  const checks = new Map(Object.entries(REQUESTS)).get(String(request["do"]));
  const wrong = checks === undefined ? ["do"] : Object.keys(checks).filter((field) => !checks[field]!(request[field]));
  if (wrong.length > 0) throw new TypeError(`the request has no valid ${wrong.join(", ")}: got ${show(text)}`);
  return request as unknown as ObjectRequest;
}

/** Returns the value of a JSON text; `undefined` if it is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns whether a value is an object whose fields have values that they may have. */
export function hasFields(
  value: unknown,
  checks: Readonly<Record<string, Check>>,
): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(checks).every(([field, check]) => check(Reflect.get(value, field)));
}
