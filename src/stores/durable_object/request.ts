import { StoreError } from "../../contract/errors.ts";
import { show } from "../../internal/validation.ts";
import type { Claim, EvictOptions } from "../../contract/store.ts";

export const FORMAT = 1;

/** For how long an object holds a wait open, in milliseconds. */
export const HOLD_MS = 20_000;

/** A request of a store to the object of a name. */
export type ObjectRequest =
  | { readonly do: "attempt"; readonly claim: Claim; readonly call: CallFields; readonly options: AttemptFields }
  | { readonly do: "release"; readonly claim: Claim; readonly call: CallFields }
  | { readonly do: "succeed"; readonly claim: Claim; readonly call: CallFields; readonly to: Claim }
  | { readonly do: "renew" | "wait" | "watch"; readonly claim: Claim }
  | { readonly do: "evict"; readonly name: string; readonly call: CallFields; readonly options: EvictFields };

/** The identity of a call. It is executed once, and not after a later call of the same store object and handle. */
interface CallFields {
  /** The id of the store object. */
  readonly store: string;
  readonly number: number;
}

/** The part of an attempt's options that concerns the object. */
interface AttemptFields {
  readonly enqueue: boolean;
  readonly steal: boolean;
}

/** The options of `evict()`, with the fence as text. */
interface EvictFields extends Omit<EvictOptions, "fence"> {
  readonly fence?: string | undefined;
}

/** The shape of a value: one of these types; one of several texts; or an object with such fields. */
export type Shape = string | readonly string[] | { readonly [field: string]: Shape };

const CLAIM: Readonly<Record<keyof Claim, Shape>> = {
  name: "string",
  owner: "string",
  handle: "string|undefined",
  mode: ["exclusive", "shared"],
  permits: "number|undefined",
  lease: "number",
  renewal: "number|undefined",
  fences: "number|undefined",
  group: "string|undefined",
  meta: "string|undefined",
};
const CALL: Shape = { store: "string", number: "number" };

const REQUESTS: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  attempt: { claim: CLAIM, call: CALL, options: { enqueue: "boolean", steal: "boolean" } },
  release: { claim: CLAIM, call: CALL },
  succeed: { claim: CLAIM, call: CALL, to: CLAIM },
  renew: { claim: CLAIM },
  wait: { claim: CLAIM },
  watch: { claim: CLAIM },
  evict: { name: "string", call: CALL, options: { handle: "string|undefined", fence: "string|undefined" } },
};

export function formatRequest(request: ObjectRequest): string {
  return JSON.stringify({ holdfast: FORMAT, ...request });
}

/** Reads the text of a request. Throws a permanent `StoreError` that names its fault. */
export function parseRequest(text: string): ObjectRequest {
  const request = parse(text);
  if (!fits(request, { holdfast: "number" })) {
    throw refused(`a lock object answers only requests of durableObject(): got ${show(text)}`);
  }
  const { holdfast, do: what } = request;
  if (holdfast !== FORMAT) throw refused(`the format of the request is ${holdfast}, that of the object ${FORMAT}`);
  const shapes = Object.hasOwn(REQUESTS, `${what}`) ? REQUESTS[`${what}`]! : { do: "undefined" };
  const wrong = Object.keys(shapes).filter((field) => !fits(request[field], shapes[field]!));
  if (wrong.length > 0) throw refused(`the request has no valid ${wrong}: got ${show(text)}`);
  return request as unknown as ObjectRequest;
}

function refused(message: string): StoreError {
  return new StoreError(message, { permanent: true });
}

/** Returns the value of a JSON text; `undefined` if the text is no JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function fits(value: unknown, shape: Shape): value is Readonly<Record<string, unknown>> {
  if (Array.isArray(shape)) return shape.includes(value);
  if (typeof shape === "string") {
    return shape.split("|").includes(typeof value) && !(typeof value === "number" && value < 0);
  }
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(shape).every(([field, each]) => fits(Reflect.get(value, field), each));
}
