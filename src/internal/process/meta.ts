import { show } from "../validation.ts";
import type { Meta } from "../../contract/store.ts";

/** How long the text of a record may be, in bytes of UTF-8. */
const MAX_BYTES = 1_024;

const PROCESS: Meta = describeProcess();
const DEFAULT = encode(PROCESS);

/** Checks the option `meta`, and returns the text for the claim. */
export function checkMeta(meta: Meta | false | undefined): string | undefined {
  if (meta === undefined) return DEFAULT;
  if (meta === false) return undefined;
  if (Object.prototype.toString.call(meta) !== "[object Object]") {
    throw new TypeError(`meta must be a record of strings, or false: got ${show(meta)}`);
  }
  for (const [key, value] of Object.entries(meta)) {
    if (typeof value !== "string") throw new TypeError(`meta.${key} must be a string: got ${show(value)}`);
    if (!key.isWellFormed() || !value.isWellFormed()) {
      throw new TypeError(`meta.${key} must be well-formed Unicode: got ${show(value)}`);
    }
  }
  const text = encode({ ...PROCESS, ...meta });
  const bytes = new TextEncoder().encode(text ?? "").length;
  if (bytes > MAX_BYTES) {
    throw new RangeError(`meta must have at most ${MAX_BYTES} bytes as JSON, with host and pid: got ${bytes}`);
  }
  return text;
}

function encode(meta: Meta): string | undefined {
  return Object.keys(meta).length === 0 ? undefined : JSON.stringify(meta);
}

/** Reads the text of a claim's `meta`; `undefined` when there is none, or another program wrote the text. */
export function readMeta(text: string | undefined): Meta | undefined {
  if (text === undefined || text === "") return undefined;
  try {
    const meta: unknown = JSON.parse(text);
    return isMeta(meta) ? meta : undefined;
  } catch {
    return undefined;
  }
}

function isMeta(value: unknown): value is Meta {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.values(value).every((each) => typeof each === "string");
}

/** The parts of the runtimes' globals that describe the process. */
interface HostRuntime {
  readonly Deno?: undefined | {
    readonly pid: number;
    hostname(): string;
    readonly permissions?: { querySync?(permission: { name: "sys"; kind: "hostname" }): { readonly state: string } };
  };
  readonly process?: undefined | {
    readonly pid?: number;
    getBuiltinModule?(id: string): { hostname(): string } | undefined;
  };
}

/** Returns the machine and the process, as far as the runtime tells without asking the user for a permission. */
export function describeProcess({ Deno, process }: HostRuntime = globalThis as HostRuntime): Record<string, string> {
  const host = hostname({ Deno, process });
  const pid = Deno?.pid ?? process?.pid;
  return { ...host === undefined ? {} : { host }, ...pid === undefined ? {} : { pid: String(pid) } };
}

function hostname({ Deno, process }: HostRuntime): string | undefined {
  try {
    // What else has the name of Deno is a stand-in on another runtime.
    if (Deno?.permissions === undefined) return process?.getBuiltinModule?.("node:os")?.hostname();
    // Without the look at the permission, the user would be asked for it.
    const { state } = Deno.permissions.querySync?.({ name: "sys", kind: "hostname" }) ?? {};
    return state === "granted" ? Deno.hostname() : undefined;
  } catch {
    return undefined; // A runtime that knows the function, but not the name.
  }
}
