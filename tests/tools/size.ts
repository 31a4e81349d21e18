/**
 * How much code an import of the package loads, minified and compressed: prints it for the stores too, and fails when
 * the package by itself is over its budget.
 *
 * @module
 */
const KB = 1_024;

/** For `import "@holdfast/lock"`, in bytes. */
const BUDGET = 12 * KB;

const MAIN = "mod.ts";

/** What people import together. */
const SETS: Readonly<Record<string, readonly string[]>> = {
  "@holdfast/lock": [MAIN],
  "with memory": [MAIN, "src/stores/memory/mod.ts"],
  "with sqlite": [MAIN, "src/stores/sqlite/mod.ts"],
  "with durable-object": [MAIN, "src/stores/durable_object/mod.ts"],
  "with cas": [MAIN, "src/engine/mod.ts"],
  "with deno-kv": [MAIN, "src/stores/deno_kv/mod.ts"],
  "with postgres": [MAIN, "src/stores/postgres/mod.ts"],
  "with mysql": [MAIN, "src/stores/mysql/mod.ts"],
  "with zookeeper": [MAIN, "src/stores/zookeeper/mod.ts"],
  "with etcd": [MAIN, "src/stores/etcd/mod.ts"],
  "with redis": [MAIN, "src/stores/redis/mod.ts"],
  "with upstash": [MAIN, "src/stores/redis/mod.ts", "src/stores/redis/clients/upstash/mod.ts"],
  "with redlock": [MAIN, "src/redlock/mod.ts"],
  "with cohort": [MAIN, "src/cohort/mod.ts"],
  "with guard": [MAIN, "src/guard/mod.ts"],
  "with @holdfast/compat/redlock": [MAIN, "packages/compat/src/redlock/mod.ts"],
  "with @holdfast/compat/redis-semaphore": [MAIN, "packages/compat/src/redis_semaphore/mod.ts"],
  "with @holdfast/otel": [MAIN, "packages/otel/mod.ts"],
};

async function main(): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_size_" });
  try {
    const entries = [...new Set(Object.values(SETS).flat())];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["bundle", "--quiet", "--minify", "--code-splitting", "--outdir", folder, ...entries],
      stdin: "null",
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    const sizes: [string, number][] = [];
    for (const [name, set] of Object.entries(SETS)) sizes.push([name, await size(loaded(folder, set))]);
    console.log(sizes.map(([name, bytes]) => `${name} ${(bytes / KB).toFixed(1)} KB`).join(", "));
    const [[, bytes]] = sizes as [[string, number]];
    if (bytes <= BUDGET) return 0;
    console.log(`import "@holdfast/lock" may load ${BUDGET / KB} KB`);
    return 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The text of all files that an import of these entries loads; what is imported dynamically comes later, if at all. */
function loaded(folder: string, entries: readonly string[]): string {
  const texts = new Map<string, string>();
  const load = (url: URL) => {
    if (texts.has(url.href)) return;
    const text = Deno.readTextFileSync(url);
    texts.set(url.href, text);
    for (const [, path] of text.matchAll(/\b(?:from|import)\s*"(\.[^"]+)"/g)) load(new URL(path!, url));
  };
  for (const entry of entries) load(new URL(entry.replace(/ts$/, "js"), `file://${folder}/`));
  return [...texts.values()].join("\n");
}

async function size(text: string): Promise<number> {
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(compressed).bytes()).length;
}

Deno.exitCode = await main();
