import type { acquire } from "@holdfast/lock";
import type { redis } from "@holdfast/lock/redis";
import { type Edit, EDITS } from "./feature_edits.ts";

/** A copy of the package, loaded. */
export interface Copy {
  readonly acquire: typeof acquire;
  readonly redis: typeof redis;
  /** The text of each of its files. */
  readonly files: ReadonlyMap<string, string>;
}

type Edits = Readonly<Record<string, readonly Edit[]>>;

const SOURCE = new URL("../../src/", import.meta.url);

/** What is imported of a copy: everything else comes along. */
const [CORE, STORE] = ["acquire.ts", "stores/redis/mod.ts"] as const;

/** What code that knows of none of the features does not say. */
const TRACES = /^.*(permits|shared|steal|observer|\btell\b|holders|marker|"conflict" in).*$/im;

/** A copy of the package as it is. */
export function whole(directory: string): Promise<Copy> {
  return copy(directory, {});
}

/**
 * A copy without what an exclusive lock does not need, see {@linkcode EDITS}: neither in the code nor in the scripts.
 * Rejects when something of it would be left, which then would be compared with itself.
 */
export async function exclusiveOnly(directory: string, edits: Edits = EDITS): Promise<Copy> {
  const stripped = await copy(directory, edits);
  for (const [file, text] of stripped.files) {
    const trace = TRACES.exec(withoutComments(text));
    if (trace !== null) throw new Error(`What was to be taken out of src/${file} is still there: ${trace[0].trim()}`);
  }
  return stripped;
}

async function copy(directory: string, edits: Edits): Promise<Copy> {
  const files = new Map<string, string>();
  const add = async (file: string) => {
    if (files.has(file)) return;
    const url = new URL(file, SOURCE);
    const text = edited(file, await Deno.readTextFile(url), edits[file] ?? []);
    files.set(file, text);
    for (const [, path] of text.matchAll(/ from "(\.[^"]+)";$/gm)) {
      await add(new URL(path!, url).href.slice(SOURCE.href.length));
    }
  };
  for (const entry of [CORE, STORE]) await add(entry);
  for (const file of Object.keys(edits)) if (!files.has(file)) throw new Error(`No lock needs src/${file} any more`);
  for (const [file, text] of files) {
    const path = `${directory}/${file}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, hashed(text));
  }
  const load = async (file: string) => await import(new URL(`file://${directory}/${file}`).href);
  return { acquire: (await load(CORE)).acquire, redis: (await load(STORE)).redis, files };
}

/** The text of a file after its edits. */
function edited(file: string, text: string, edits: readonly Edit[]): string {
  for (const [wanted, instead = ""] of edits) {
    const [head = "", tail = ""] = wanted.split(/… ?/);
    const start = text.indexOf(head);
    const end = text.indexOf(tail, start + head.length);
    if (start < 0 || end < 0 || text.includes(head, start + 1)) {
      throw new Error(`This does not stand once in src/${file}, see tests/bench/feature_edits.ts: ${wanted}`);
    }
    text = text.slice(0, start) + instead + text.slice(end + tail.length);
  }
  return text;
}

/** Has the SHA-1 of each script counted when it is loaded: under the old one the server may know the whole script. */
function hashed(text: string): string {
  const counted = text.replace(/(source: (\w+), sha: )"\w{40}"/g, '$1createHash("sha1").update($2).digest("hex")');
  if (/"[0-9a-f]{40}"/.test(counted)) throw new Error("A script in src/ has its SHA-1 in a new way");
  return counted === text ? text : `import { createHash } from "node:crypto";\n${counted}`;
}

function withoutComments(text: string): string {
  return text.replace(/\/\*\*.*?\*\/|^ *\/\/.*?$/gms, "");
}
