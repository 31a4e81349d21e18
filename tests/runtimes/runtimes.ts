import { type Build, SQLITE } from "./build.ts";
import { command } from "./command.ts";
import { MODULES } from "./versions.ts";

/** A JavaScript runtime that the package is tested in. */
export interface Runtime {
  /** What it calls its version. */
  version(): Promise<string>;
  /** What runs a program in a process; not everything that runs JavaScript has processes. */
  readonly process: string | undefined;
  /** The program, with its arguments, that runs the tests. */
  prepare(build: Build): Promise<string[]>;
  /** Why tests are not run here, by what their names begin with. */
  readonly skip: Readonly<Record<string, string>>;
  /** Why test files are not even loaded here, by their paths. */
  readonly without: Readonly<Record<string, string>>;
}

const NO_SQLITE = { [SQLITE]: "the file of the SQLite store: there is no working node:sqlite" };
const NO_DENO = { "SystemClock.timer() does not keep the process alive": "it starts processes of Deno" };

function node(name: string, without: Record<string, string> = {}): Runtime {
  const program = `${MODULES}/${name}/bin/node`;
  return {
    process: program,
    version: () => command(program, ["--version"]),
    prepare: async (build) => [program, await build.program(name, "node", Object.keys(without))],
    skip: NO_DENO,
    without,
  };
}

const bun = `${MODULES}/bun/bin/bun`;

/** The runtimes, by the names that the command line knows them by. */
export const RUNTIMES: Readonly<Record<string, Runtime>> = {
  node20: node("node20", NO_SQLITE),
  node22: node("node22"),
  node24: node("node24"),
  bun: {
    process: bun,
    version: () => command(bun, ["--version"]),
    prepare: async (build) => [bun, await build.program("bun", "node", [])],
    skip: NO_DENO,
    without: {},
  },
  workerd: {
    process: undefined,
    version: async () => {
      const path = await Deno.realPath(`${MODULES}/miniflare`);
      return JSON.parse(await Deno.readTextFile(`${path}/../workerd/package.json`)).version;
    },
    prepare: async (build) => {
      const worker = `${build.folder}/worker.js`;
      await command(`${MODULES}/node24/bin/node`, [
        `${MODULES}/esbuild/bin/esbuild`,
        await build.program("workerd", "workerd", Object.keys(NO_SQLITE)),
        ...["--bundle", "--format=esm", "--platform=node", "--target=esnext", `--outfile=${worker}`],
        // For the modules of Node that ioredis asks for in the manner of CommonJS.
        `--banner:js=import { createRequire } from "node:module"; const require = createRequire("/");`,
      ], build.folder);
      const miniflare = new URL(`file://${MODULES}/miniflare/dist/src/index.js`).href;
      return [`${MODULES}/node24/bin/node`, build.miniflare, miniflare, worker];
    },
    skip: {
      ...NO_DENO,
      "Limit.end() leaves neither a timer nor a listener": "getEventListeners() of node:events finds none on a signal",
    },
    without: NO_SQLITE,
  },
};
