import type { Build } from "./build.ts";
import { command } from "./command.ts";
import type { ClientName } from "../guard/databases.ts";
import { isPlatform, isServer, isSqlite, sharedTests } from "./files.ts";
import { MODULES } from "./versions.ts";

/** A JavaScript runtime that the package is tested in. */
export interface Runtime {
  /** What it calls its version. */
  version(): Promise<string>;
  /** What runs a program in a process; not everything that runs JavaScript has processes. */
  readonly process: string | undefined;
  /** The program, with its arguments, that runs the tests. */
  prepare(build: Build): Promise<string[]>;
  /** The program of examples/ that runs here, whose one argument is a night. */
  readonly example?: string;
  /** Why tests are not run here, by what their names begin with. */
  readonly skip: Readonly<Record<string, string>>;
  /** Why test files are not even loaded here, by their paths. */
  readonly without: Readonly<Record<string, string>>;
  /** The libraries of Redis clients, beside ioredis 6, over which the store suite runs here. */
  readonly clients: readonly string[];
  /** The clients of databases that are tested here. */
  readonly databases: readonly ClientName[];
  /** In how many processes at a time the tests run, which wait for leases and servers most of the time. */
  readonly parts: number;
}

const TESTS = sharedTests();

const PARTS = 2;

const NO_SQLITE = because(
  "a file of the SQLite store: there is no working node:sqlite",
  TESTS.filter(isSqlite),
);
const NO_LOCKS = because("the file of navigator.locks: there are none", TESTS.filter(isPlatform));
const NO_SDK = because("the SDK of OpenTelemetry for Node does not load", ["packages/otel/tests/sdk_test.ts"]);
const NO_SERVER = because("the file of the HTTP server: a worker does not listen", TESTS.filter(isServer));
const NO_ZOOKEEPER = because("the store on ZooKeeper: it is for Deno, Node and Bun", [
  "tests/runtimes/inside/zookeeper.ts",
]);
const NO_DENO = because("it starts processes of Deno", ["SystemClock.timer() does not keep the process alive"]);

/** What asks nothing of a runtime but its timers: a version between two others shows no more than these. */
const PLAIN = /^tests\/(engine|handoff|redlock|cohort|web_locks|stores\/(memory|durable_object))\//;
const LIKE_OTHERS = because(
  "a file that needs timers alone: Node 20 and 24 run it",
  TESTS.filter((path) => PLAIN.test(path) && !isSqlite(path) && !isPlatform(path)),
);

/** Where the lock manager that Node itself has is not as the specification says. */
const OWN_LOCKS = because(
  "navigator.locks of Node 24 differs from the specification",
  [
    "request() reads undefined and null as no options, and those of a function",
    "request() refuses a name with a leading hyphen before it reads the options",
    "request() takes no signal with steal or ifAvailable, aborted or not",
    "request() does not call back before it returns",
    "the lock is released when the callback throws, and the request rejects",
    "an aborted request leaves the queue, and is never granted",
    "those who waited behind an aborted request are served",
  ].map((step) => `navigator.locks: ${step}`),
);

function because(why: string, what: readonly string[]): Record<string, string> {
  return Object.fromEntries(what.map((each) => [each, why]));
}

const NODE = `${MODULES}/node24/bin/node`;
const MINIFLARE = new URL(`file://${MODULES}/miniflare/dist/src/index.js`).href;
const EXAMPLES = new URL("../../examples", import.meta.url).pathname;

/** Takes the sockets of Workers for postgres.js, and leaves other clients out, which are not loaded. */
const POSTGRES_JS_ALONE = [
  "--conditions=workerd,module",
  ...["cloudflare:sockets", "pg", "mysql2", "mariadb", "@electric-sql/pglite", "@valkey/valkey-glide"].map((name) =>
    `--external:${name}`
  ),
];

async function versionOfWorkerd(): Promise<string> {
  const path = await Deno.realPath(`${MODULES}/miniflare`);
  return JSON.parse(await Deno.readTextFile(`${path}/../workerd/package.json`)).version;
}

/** Makes one module of a program and all that it imports. */
async function bundle(program: string, file: string, folder: string, ...options: string[]): Promise<void> {
  const common = ["--bundle", "--format=esm", "--platform=node", "--target=esnext", `--outfile=${file}`];
  await command(NODE, [`${MODULES}/esbuild/bin/esbuild`, program, ...common, ...options], folder);
}

/** A runtime that runs a program in a process. */
function native(
  name: string,
  program: string,
  { without = {}, skip = {}, clients = [], ...rest }: Partial<Runtime>,
): Runtime {
  return {
    process: program,
    version: () => command(program, ["--version"]),
    prepare: async (build) => [program, await build.program(name, "node", Object.keys(without))],
    skip: { ...NO_DENO, ...skip },
    without,
    clients,
    databases: ["postgres.js", "pg", "mysql2", "mariadb"],
    parts: PARTS,
    ...rest,
  };
}

/** The runtimes, by the names that the command line knows them by. */
export const RUNTIMES: Readonly<Record<string, Runtime>> = {
  node20: native("node20", `${MODULES}/node20/bin/node`, {
    without: { ...NO_SQLITE, ...NO_LOCKS },
    clients: ["iovalkey", "node-redis 5"],
  }),
  node22: native("node22", `${MODULES}/node22/bin/node`, {
    without: { ...NO_LOCKS, ...LIKE_OTHERS },
    clients: ["ioredis 5", "valkey-glide"],
  }),
  node24: native("node24", `${MODULES}/node24/bin/node`, { skip: OWN_LOCKS, clients: ["node-redis 6"] }),
  bun: native("bun", `${MODULES}/bun/bin/bun`, { without: NO_LOCKS, clients: ["Bun"], example: "bun.ts" }),
  workerd: {
    process: undefined,
    version: versionOfWorkerd,
    prepare: async (build) => {
      const without = Object.keys({ ...NO_SQLITE, ...NO_LOCKS, ...NO_SDK, ...NO_SERVER, ...NO_ZOOKEEPER });
      const worker = `${build.folder}/worker.js`;
      // For the modules of Node that ioredis asks for in the manner of CommonJS.
      const banner = `import { createRequire } from "node:module"; const require = createRequire("/");`;
      const program = await build.program("workerd", "workerd", without);
      await bundle(program, worker, build.folder, `--banner:js=${banner}`, ...POSTGRES_JS_ALONE);
      return [NODE, build.inside("miniflare"), MINIFLARE, worker];
    },
    skip: {
      ...NO_DENO,
      "acquire() and tryAcquire() reject with one error when the server ": "node:net has no createServer()",
      ...Object.fromEntries(
        [
          "WaitScope.end() leaves neither a timer nor a listener",
          "Revocations.wait() leaves no listener and no watch",
          "Waiters.wait() removes its listener",
        ].map((start) => [start, "getEventListeners() of node:events finds none on a signal"]),
      ),
    },
    without: { ...NO_SQLITE, ...NO_LOCKS, ...NO_SDK, ...NO_SERVER, ...NO_ZOOKEEPER },
    clients: ["upstash"],
    databases: ["postgres.js"],
    parts: PARTS,
  },
  objects: {
    process: undefined,
    version: versionOfWorkerd,
    prepare: async (build) => {
      const [worker, examples] = [`${build.folder}/objects.js`, `${build.folder}/examples`];
      await bundle(build.inside("objects_worker"), worker, build.folder);
      for (const name of ["worker", "worker_upstash"]) {
        const example = `${examples}/${name}`;
        await Deno.mkdir(example, { recursive: true });
        for (const file of ["worker.ts", "wrangler.jsonc"]) {
          await Deno.copyFile(`${EXAMPLES}/${name}/${file}`, `${example}/${file}`);
        }
        await bundle(`${example}/worker.ts`, `${example}/worker.js`, build.folder);
      }
      return [NODE, build.inside("objects"), MINIFLARE, worker, examples, build.folder];
    },
    skip: {},
    without: {},
    clients: [],
    databases: [],
    parts: 1,
  },
};
