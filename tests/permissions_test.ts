// Deno only: it starts processes of Deno with few permissions, and servers for them.
import { assert, assertEquals } from "@std/assert";
import { MariadbServer } from "./support/mariadb_server.ts";
import { findMariadb } from "./support/mariadb.ts";
import { PostgresServer } from "./support/postgres_server.ts";
import { findPostgres } from "./support/postgres.ts";
import { RestFront } from "./support/rest_front.ts";
import { RedisServer } from "./support/redis_server.ts";
import { runSource } from "./support/run_source.ts";
import { textOf } from "./support/test_files.ts";

const CONFIG = new URL("../deno.json", import.meta.url).pathname;

/** A program that holds a lock, and which of the flags in the row of its store it needs. */
interface Holder {
  readonly row: string;
  /** How many groups of flags; only the first one if left out. */
  readonly groups?: number;
  readonly imports: string;
  /** An expression for the store, at a port or in a folder. */
  readonly store: string;
  readonly start?: () => Promise<AsyncDisposable & { readonly port: number }>;
  readonly ignore?: boolean;
}

const redis = () => RedisServer.start();
const [withoutPostgres, withoutMariadb] = [findPostgres(), findMariadb()].map((found) => "missing" in found);
const onPostgres = { row: "PostgreSQL", start: () => PostgresServer.start(), ignore: withoutPostgres! };
const onMariadb = { row: "MySQL, MariaDB", start: () => MariadbServer.start(), ignore: withoutMariadb! };
const [POSTGRES, MYSQL] = ["postgres", "mysql"].map((name) => `import { ${name} } from "@holdfast/lock/${name}";`);
const POOL = `{ host: "127.0.0.1", port: PORT, user: "root", database: "holdfast" }`;

const HOLDERS: Readonly<Record<string, Holder>> = {
  "memory": { row: "memory", imports: `import { memory } from "@holdfast/lock/memory";`, store: "memory()" },
  "SQLite": {
    row: "SQLite",
    imports: `import { sqlite } from "@holdfast/lock/sqlite";`,
    store: `sqlite("DIR/locks.db")`,
  },
  "Deno KV": {
    row: "Deno KV",
    groups: 2,
    imports: `import { denoKv } from "@holdfast/lock/deno-kv";`,
    store: `denoKv(await Deno.openKv("DIR/locks.db"))`,
  },
  "ioredis": {
    row: "Redis, Valkey",
    imports: `import { Redis } from "ioredis";`,
    store: `new Redis(PORT, "127.0.0.1")`,
    start: redis,
  },
  ...Object.fromEntries(["ioredis5", "iovalkey"].map((name) => [name, {
    row: "Redis, Valkey",
    imports: `import { Redis } from "${name}";`,
    store: `new Redis(PORT, "127.0.0.1")`,
    start: redis,
  }])),
  ...Object.fromEntries(["redis", "redis5"].map((name) => [name, {
    row: "Redis, Valkey",
    imports: `import { createClient } from "${name}";`,
    store: `await createClient({ url: "redis://127.0.0.1:PORT" }).on("error", console.error).connect()`,
    start: redis,
  }])),
  "valkey-glide": {
    row: "valkey-glide",
    imports: `import { GlideClient, Logger } from "@valkey/valkey-glide"; Logger.setLoggerConfig("off");`,
    // By default a request may take 250 ms, and a connection 2 s.
    store: `await GlideClient.createClient({
      addresses: [{ host: "127.0.0.1", port: PORT }],
      requestTimeout: 60_000,
      advancedConfiguration: { connectionTimeout: 60_000 },
    })`,
    start: redis,
  },
  "upstash": {
    row: "Redis over HTTP",
    imports: `import { upstash } from "@holdfast/lock/upstash";`,
    store: `upstash({ url: "http://127.0.0.1:PORT", token: "token" })`,
    start: async () => {
      const server = await RedisServer.start();
      const front = new RestFront(server.port, 0, "token");
      return {
        port: front.port,
        [Symbol.asyncDispose]: async () => {
          await front.close();
          await server[Symbol.asyncDispose]();
        },
      };
    },
  },
  "postgres.js": {
    ...onPostgres,
    imports: `import connect from "postgres"; ${POSTGRES}`,
    store: `postgres(connect("postgres://postgres@127.0.0.1:PORT/postgres"), { listen: true })`,
  },
  "pg": {
    ...onPostgres,
    imports: `import pg from "pg"; ${POSTGRES}`,
    store: `postgres(new pg.Pool({ connectionString: "postgres://postgres@127.0.0.1:PORT/postgres" }))`,
  },
  "mysql2": {
    ...onMariadb,
    imports: `import { createPool } from "mysql2/promise"; ${MYSQL}`,
    store: `mysql(createPool(${POOL}))`,
  },
  "mariadb": {
    ...onMariadb,
    groups: 2,
    imports: `import { createPool } from "mariadb"; ${MYSQL}`,
    store: `mysql(createPool(${POOL}))`,
  },
};

/** What connects to a host and port, over which a lock cannot be acquired without permission for them. */
const DENIED: Readonly<Record<string, Pick<Holder, "imports" | "store">>> = {
  "ioredis": { imports: HOLDERS["ioredis"]!.imports, store: `new Redis(6379, "HOST")` },
  "iovalkey": { imports: HOLDERS["iovalkey"]!.imports, store: `new Redis(6379, "HOST")` },
  "node-redis": {
    imports: HOLDERS["redis"]!.imports,
    store: `(() => {
      const client = createClient({ url: "redis://HOST:6379" }).on("error", () => {});
      client.connect().catch(() => {});
      return client;
    })()`,
  },
  "Redlock": {
    imports: HOLDERS["ioredis"]!.imports,
    store: `[6379, 6380, 6381].map((port) => new Redis(port, "HOST"))`,
  },
  "upstash": { imports: HOLDERS["upstash"]!.imports, store: `upstash({ url: "http://HOST:6379", token: "token" })` },
  "etcd": {
    imports: `import { etcd } from "@holdfast/lock/etcd";`,
    store: `etcd({ endpoints: ["http://HOST:6379"] })`,
  },
  "postgres.js": {
    imports: `import connect from "postgres"; ${POSTGRES}`,
    store: `postgres(connect("postgres://postgres@HOST:6379/postgres"))`,
  },
  "pg": {
    imports: `import pg from "pg"; ${POSTGRES}`,
    store: `postgres(new pg.Pool({ host: "HOST", port: 6379 }))`,
  },
  "mysql2": {
    imports: `import { createPool } from "mysql2/promise"; ${MYSQL}`,
    store: `mysql(createPool({ host: "HOST", port: 6379 }))`,
  },
};

for (const [name, { imports, store }] of Object.entries(DENIED)) {
  Deno.test(`acquire() without --allow-net rejects at once, and names the host: ${name}`, async () => {
    for (const host of ["localhost", "127.0.0.1"]) {
      const program = `${imports}
        import { acquire } from "@holdfast/lock";
        const error = await acquire(${store.replaceAll("HOST", host)}, "a").catch((error) => error);
        console.log(JSON.stringify([error.code, error.permanent, error.message]));
        Deno.exit();`;
      const { out, err } = await runSource(program, {
        flags: ["--no-prompt", "--no-check", `--config=${CONFIG}`, "--allow-env", "--allow-read", "--allow-sys"],
      });
      const [code, permanent, message] = JSON.parse(out || "[]");
      assert(["store", "quorum"].includes(code) && permanent === true, `${out}${err}`);
      // What ioredis asks of the resolver has no port.
      assert(message.includes("--allow-net") && message.includes(`net access to "${host}`), message);
    }
  });
}

/** Returns the groups of flags that docs/typescript.md has for a store. */
function flagsOf(row: string): string[] {
  const line = textOf("docs/typescript.md").split("\n").find((line) => line.startsWith(`| ${row} `));
  assert(line !== undefined, `there is a row ${row}`);
  return Array.from(line.matchAll(/`(--[^`]+)`/g), ([, flags]) => flags!);
}

for (const [name, { row, groups = 1, imports, store, start, ignore = false }] of Object.entries(HOLDERS)) {
  Deno.test({
    name: `docs/typescript.md has the flags of Deno with which a lock is held: ${name}`,
    ignore,
    fn: async () => {
      await using server = await start?.();
      const directory = await Deno.makeTempDir({ prefix: "holdfast_permissions_" });
      const place = (text: string) => {
        return text.replace("HOST:PORT", `127.0.0.1:${server?.port}`).replace("PORT", `${server?.port}`)
          .replaceAll("FILE", `${directory}/locks.db`).replaceAll("DIR", directory);
      };
      const flags = flagsOf(row).slice(0, groups).join(" ").split(" ").filter((flag) => flag !== "");
      const program = place(`${imports}
        import { acquire } from "@holdfast/lock";
        const lock = await acquire(${store}, "a", { wait: 60_000 });
        console.log(lock.held);
        await lock.release();
        Deno.exit();`);
      const { out, err } = await runSource(program, {
        flags: ["--no-prompt", "--no-check", `--config=${CONFIG}`, ...flags.map(place)],
      });
      await Deno.remove(directory, { recursive: true });
      assertEquals(out, "true\n", err);
    },
  });
}
