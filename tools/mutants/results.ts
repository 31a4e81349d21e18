import { files, source } from "./workshop.ts";

/** What became of a mutant. */
export interface Result {
  readonly key: string;
  readonly target: string;
  readonly path: string;
  readonly line: number;
  readonly operator: string;
  /** Killed: a test failed. Late: the tests did not end in time. */
  readonly outcome: "killed" | "late" | "survived";
}

/** The results for one state of the sources and tests, in a file that outlives an interruption. */
export class Results {
  readonly #path: string;
  readonly #results = new Map<string, Result>();

  private constructor(path: string) {
    this.#path = path;
  }

  /** Opens the results for the sources and tests as they are; with `fresh`, forgets them. */
  static async open(fresh: boolean): Promise<Results> {
    const directory = `${Deno.env.get("TMPDIR") ?? "/tmp"}/holdfast_mutants_results`;
    await Deno.mkdir(directory, { recursive: true });
    const results = new Results(`${directory}/${await fingerprint()}.jsonl`);
    if (fresh) await Deno.remove(results.#path).catch(() => {});
    const text = await Deno.readTextFile(results.#path).catch(() => "");
    // The last line may be half written.
    for (const line of text.split("\n").slice(0, -1)) {
      const result: Result = JSON.parse(line);
      results.#results.set(result.key, result);
    }
    return results;
  }

  /** The result of a mutant, if it was tried. */
  get(key: string): Result | undefined {
    return this.#results.get(key);
  }

  /** Notes a result. */
  async add(result: Result): Promise<void> {
    this.#results.set(result.key, result);
    await Deno.writeTextFile(this.#path, `${JSON.stringify(result)}\n`, { append: true });
  }
}

/** Another text for other sources or tests. */
async function fingerprint(): Promise<string> {
  const parts: string[] = [];
  for (const path of await files("src/", "packages/", "tests/", "tools/")) {
    if (path.endsWith(".ts") || path.endsWith(".lua")) parts.push(path, await source(path));
  }
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(parts)));
  return Array.from(new Uint8Array(digest).slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
