/** A file system in memory, which Linux has: a write to a busy disk takes longer than the leases of the suite allow. */
const IN_MEMORY = "/dev/shm";

/** A Deno KV of a test, in memory or in a file. It is open once at a time: a file serves no more. */
export class Place implements Disposable {
  readonly #directory: string | undefined;
  #opening: Promise<Deno.Kv> | undefined;
  #kv: Deno.Kv | undefined;

  /** Makes an empty one. */
  constructor(kind: "memory" | "file") {
    if (kind === "memory") return;
    const dir = Deno.build.os === "linux" ? { dir: IN_MEMORY } : {};
    this.#directory = Deno.makeTempDirSync({ ...dir, prefix: "holdfast_deno_kv_" });
  }

  /** The path of the file, or what Deno takes for a Deno KV in memory. */
  get path(): string {
    return this.#directory === undefined ? ":memory:" : `${this.#directory}/kv.db`;
  }

  /** Opens it, unless it is open. */
  async open(): Promise<Deno.Kv> {
    this.#opening ??= Deno.openKv(this.path);
    this.#kv = await this.#opening;
    return this.#kv;
  }

  /** Returns the names of the locks that are held or waited for. */
  async used(): Promise<string[]> {
    const names: string[] = [];
    const kv = await this.open();
    for await (const { key } of kv.list({ prefix: ["holdfast"] })) {
      const name = String(key[1]);
      const { holders, queue } = await documentOf(kv, name);
      if (holders.length + queue.length > 0) names.push(name);
    }
    return names;
  }

  /** Closes it. What is in memory is gone then. */
  close(): void {
    this.#kv?.close();
    [this.#kv, this.#opening] = [undefined, undefined];
  }

  [Symbol.dispose](): void {
    this.close();
    if (this.#directory !== undefined) Deno.removeSync(this.#directory, { recursive: true });
  }
}

/** What the tests look at in the document of a lock. */
export interface Document {
  /** The holders, and when their leases end by their own clocks. */
  readonly holders: readonly { readonly end: number }[];
  readonly queue: readonly unknown[];
}

/** Reads the document of a lock. */
export async function documentOf(kv: Deno.Kv, name: string): Promise<Document> {
  const { value } = await kv.get<Uint8Array>(["holdfast", name]);
  return value === null ? { holders: [], queue: [] } : JSON.parse(new TextDecoder().decode(value));
}
