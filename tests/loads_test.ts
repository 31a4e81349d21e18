// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";

const root = new URL("../", import.meta.url);

/** Where an import of a file leads that is not there. */
const NOWHERE = "file:///nowhere/";

/** The folders of src/ with stores, or with what some stores are made of. */
const FOLDERS = [
  ...Array.from(Deno.readDirSync(new URL("src/stores/", root)), ({ name }) => `src/stores/${name}/`),
  ...["src/engine/", "src/redlock/", "src/cohort/"],
];

/** Runs a program with the package, in which the stores are not there but for those in these folders. */
async function runWith(stores: string[], program: string): Promise<{ success: boolean; output: string }> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_loads_" });
  try {
    const { exports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
    const at = (path: string, base: string | URL = root) => new URL(path, base).href;
    // The longest path counts.
    const imports = Object.fromEntries([
      ...Object.entries(exports).map(([path, file]) => [`@holdfast/lock${path.slice(1)}`, at(file as string)]),
      ...FOLDERS.map((path) => [at(path), at(path, NOWHERE)]),
      ...stores.map((path) => [at(path), at(path)]),
    ]);
    await Deno.writeTextFile(`${folder}/program.ts`, program.replaceAll('"./', `"${root}`));
    await Deno.writeTextFile(`${folder}/import_map.json`, JSON.stringify({ imports }));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--no-config", "--no-lock", "--import-map", `${folder}/import_map.json`],
        ...["--allow-read", `${folder}/program.ts`],
      ],
      env: { NO_COLOR: "1" },
      stdin: "null",
    }).output();
    return { success, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Takes a lock on a store of its own, beside what is imported. */
const LOCK = `
  import { acquire } from "./mod.ts";
  const store = {
    attempt: () => Promise.resolve({ granted: true, fence: 7n }),
    renew: () => Promise.resolve("renewed"),
    release: () => Promise.resolve(true),
    drift: () => 0,
  };
  const lock = await acquire(store, "a");
  await lock.release();
  console.log("fence", lock.fence);
`;

Deno.test("acquire() on a store of one's own runs without the files of any store", async () => {
  assertEquals(await runWith([], LOCK), { success: true, output: "fence 7n\n" });
});

Deno.test("acquire() on a Redis client is what loads the Redis store", async () => {
  const client = "{ evalsha() {}, eval() {}, duplicate() {}, on() {} }";
  const { success, output } = await runWith([], `${LOCK}\nawait acquire(${client}, "a");`);
  assertEquals(success, false);
  assert(output.startsWith("fence 7n\n") && /stores\/redis\/mod\.ts/.test(output), output);
});

for (
  const [entry, stores] of [
    ["stores/memory/mod.ts", ["src/stores/memory/"]],
    ["engine/mod.ts", ["src/engine/"]],
    ["stores/deno_kv/mod.ts", ["src/stores/deno_kv/", "src/engine/"]],
    ["stores/postgres/mod.ts", ["src/stores/postgres/", "src/engine/"]],
    ["stores/mysql/mod.ts", ["src/stores/mysql/", "src/engine/"]],
    ["stores/zookeeper/mod.ts", ["src/stores/zookeeper/", "src/engine/"]],
    ["stores/etcd/mod.ts", ["src/stores/etcd/", "src/engine/"]],
    ["guard/mod.ts", []],
    ["stores/sqlite/mod.ts", ["src/stores/sqlite/"]],
    ["stores/durable_object/mod.ts", ["src/engine/", "src/stores/durable_object/"]],
    ["stores/redis/mod.ts", ["src/stores/redis/"]],
    ["stores/redis/clients/upstash/mod.ts", ["src/stores/redis/clients/upstash/"]],
    ["redlock/mod.ts", ["src/redlock/", "src/stores/redis/"]],
    ["../packages/compat/src/redlock/mod.ts", ["src/redlock/", "src/stores/redis/"]],
    ["../packages/compat/src/redis_semaphore/mod.ts", ["src/redlock/", "src/stores/redis/"]],
  ] as const
) {
  Deno.test(`${entry} runs without the files of other stores`, async () => {
    const program = `import "./src/${entry}";\n${LOCK}`;
    assertEquals(await runWith([...stores], program), { success: true, output: "fence 7n\n" });
  });
}
