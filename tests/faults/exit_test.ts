// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import { runSource } from "../support/run_source.ts";
import { Fixture } from "./workers.ts";
import { until } from "../support/until.ts";

/** How long a program may run, in milliseconds. One that does not end by itself runs for ever. */
const RUN_LIMIT = 60_000;

/** How a program makes `store`, at a fixture of some kind, and in which ways it closes it. */
const STORES = {
  redis: {
    kind: "redis",
    open: (port: string) => `const store = new Redis(${port}, "127.0.0.1");`,
    close: ["await store.quit();", "store.disconnect();"],
  },
  sqlite: {
    kind: "sqlite",
    open: (path: string) => `const store = sqlite(${JSON.stringify(path)});`,
    close: ["store.close();", ""],
  },
  memory: {
    kind: "sqlite", // It needs no fixture.
    open: () => "const store = memory();",
    close: [""],
  },
} as const;

/** Two wait: once the second one has abandoned its wait, the first one is in the queue. */
const WAIT = `
  const first = await acquire(store, name);
  const second = acquire(store, name, { renew: 200 });
  second.catch(() => {});
  await acquire(store, name, { wait: 100 }).catch(() => {});`;

/** What a program does before it closes the store. */
const BODIES = [
  `await (await acquire(store, name)).release();`,
  `${WAIT} await first.release(); await (await second).release();`,
  // Still held, so that its renewals go on, if there is anything to make them.
  `await acquire(store, name, { lease: 600 });`,
  // Still held, and the holder uses the signal.
  `(await acquire(store, name, { lease: 60_000 })).signal.throwIfAborted();`,
  `${WAIT} await first.release(); await second;`,
];

for (const [name, { kind, open, close }] of Object.entries(STORES)) {
  Deno.test(`acquire() lets the process exit, over ${name}`, async () => {
    await using fixture = await Fixture.open(kind);
    for (const body of BODIES) {
      for (const end of close) {
        assertEquals(await run(`${open(fixture.address)} ${body} ${end} console.log("end");`), "end\n", body + end);
      }
    }
  });

  Deno.test(`acquire() keeps the process alive while it waits, over ${name}`, async () => {
    await using fixture = await Fixture.open(kind);
    // Not awaited at the top level: there the runtime itself would wait for any timer.
    const wait = `await acquire(store, name, { lease: 300, renew: false });
      acquire(store, name).then(() => {
        console.log("served");
        Deno.exit();
      });`;
    assertEquals(await run(`${open(fixture.address)} ${wait}`), "served\n");
  });
}

for (const by of ["quit", "disconnect"] as const) {
  Deno.test(`acquire() leaves no connection behind after ${by}()`, async () => {
    await using fixture = await Fixture.open("redis");
    const client = fixture.server.connect();
    const connections = async () => String(await client.client("LIST")).trim().split("\n").length;
    const worker = await fixture.worker();
    await worker.ask({ do: "acquire", name: "a" }, "granted");
    await worker.ask({ do: "acquire", name: "a" }, "waiting");
    await worker.ask({ do: "release", name: "a" }, "granted");
    // The second one may be made later than the lock is handed on inside the process.
    await until(async () => await connections() === 3, "the worker has two connections");
    await worker.ask({ do: "close", by }, "closed");
    await until(async () => await connections() === 1, "only the connection of the test is left");
  });

  Deno.test(`acquire() rejects at once when its client is closed with ${by}()`, async () => {
    await using fixture = await Fixture.open("redis");
    const program = `${STORES.redis.open(fixture.address)} ${WAIT}
      await store.${by}();
      const error = await second.catch((error) => error);
      console.log(error.code);`;
    assertEquals(await run(program), "store\n");
  });
}

/** Runs a program that ends by itself, and returns what it has written. */
async function run(program: string): Promise<string> {
  const modules = `
    import { Redis } from "npm:ioredis@^6";
    import { acquire } from "./mod.ts";
    import { memory } from "./src/stores/memory/mod.ts";
    import { sqlite } from "./src/stores/sqlite/mod.ts";
    const name = crypto.randomUUID();`;
  const { out, err, code } = await runSource(modules + program, {
    flags: ["--allow-all"],
    cwd: new URL("../../", import.meta.url),
    limit: RUN_LIMIT,
  });
  return out + err + (code === 0 ? "" : `exit status ${code}`);
}
