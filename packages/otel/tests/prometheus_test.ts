// Deno only: it starts Prometheus, of which the runtime knows nothing.
import { assert, assertEquals } from "@std/assert";
import { MODULES } from "../../../tests/runtimes/versions.ts";
import { PACKAGES } from "../../../tests/tools/packages.ts";
import { findPrometheus } from "../../../tests/support/prometheus.ts";
import { Prometheus, type Sample } from "../../../tests/support/prometheus_server.ts";
import { freePort } from "../../../tests/support/free_port.ts";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { until } from "../../../tests/support/until.ts";
import { withoutCoverage } from "../../../tests/support/without_coverage.ts";

const found = findPrometheus();
if ("missing" in found) console.log(`the tests on Prometheus are skipped: ${found.missing}`);
const ignore = "missing" in found;

const FOLDER = new URL("../../../docs/operations/", import.meta.url);

function exists(file: string): boolean {
  try {
    return Deno.statSync(file).isFile;
  } catch {
    return false;
  }
}

/** How often Prometheus is asked, in milliseconds: it looks at its target once per second. */
const PAUSE = 250;

/** How long an alert may take, in milliseconds. */
const LIMIT = 60_000;

/** The rules that operators get, with seconds in the place of minutes, and thresholds that a test reaches. */
function quickRules(): string {
  const text = Deno.readTextFileSync(new URL("holdfast.rules.yml", FOLDER));
  return text.replaceAll("5m", "15s").replaceAll("for: 1m", "for: 1s").replaceAll(/> \d\d+\b/g, "> 1");
}

/** A panel of the dashboard, with what it asks. */
interface Panel {
  readonly title: string;
  readonly queries: readonly string[];
}

function panels(): Panel[] {
  interface Dashboard {
    readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  }
  const dashboard: Dashboard = JSON.parse(Deno.readTextFileSync(new URL("grafana.json", FOLDER)));
  return dashboard.panels.flatMap(({ title, targets }) => {
    const queries = targets?.map(({ expr }) =>
      expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$(job|group)/g, ".*")
    );
    return queries === undefined ? [] : [{ title, queries }];
  });
}

/** A runtime that locks are held in: its program with the arguments before the script, and where it finds a module. */
interface Runtime {
  readonly command: readonly string[];
  readonly resolve: (module: string) => string;
}

/** Node is there once the tests in other runtimes have been run. */
const NODE = `${MODULES}/node24/bin/node`;

const RUNTIMES: Readonly<Record<string, Runtime>> = {
  Deno: {
    command: [Deno.execPath(), "run", "--quiet", "--allow-all"],
    resolve: (module) => import.meta.resolve(module),
  },
  Node: { command: [NODE, "--import", lockByName()], resolve: (module) => mainFile(module) },
};

/** Returns a module with which Node finds the sources of the lock by their names, as Deno does in a workspace. */
function lockByName(): string {
  const { name, exports } = PACKAGES[0]!;
  const root = new URL("../../../", import.meta.url);
  const paths = Object.entries(exports).map(([path, file]) => [name + path.slice(1), new URL(file, root).href]);
  const code = `import { registerHooks } from "node:module";
    const paths = new Map(${JSON.stringify(paths)});
    registerHooks({ resolve: (name, context, next) => next(paths.get(name) ?? name, context) });`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** Returns the address of the file that a package installed for Node begins with. */
function mainFile(name: string): string {
  const { main } = JSON.parse(Deno.readTextFileSync(`${MODULES}/${name}/package.json`));
  return new URL(main, `file://${MODULES}/${name}/`).href;
}

/** Starts the program that holds locks. */
function holdLocks({ command: [program, ...args], resolve }: Runtime, ports: readonly number[]): Deno.ChildProcess {
  const script = new URL("scraped_program.ts", import.meta.url).pathname;
  const modules = ["ioredis", "@opentelemetry/sdk-metrics", "@opentelemetry/exporter-prometheus"].map(resolve);
  return new Deno.Command(program!, {
    args: [...args, script, ...ports.map(String), ...modules],
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}

/** Kills a program, unless it has ended. */
async function end(process: Deno.ChildProcess): Promise<void> {
  try {
    process.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  await process.status;
}

/** What a Prometheus has seen of locks that went wrong. */
class Seen {
  /** The alerts that have fired. */
  readonly fired = new Set<string>();
  /** What the queries of the dashboard gave when they first gave anything. */
  readonly shown = new Map<string, readonly Sample[]>();
  readonly #prometheus: Prometheus;

  constructor(prometheus: Prometheus) {
    this.#prometheus = prometheus;
  }

  /** Resolves when these alerts have fired. */
  async fires(...names: string[]): Promise<void> {
    const fire = async () => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      for (const name of await this.#prometheus.firing()) this.fired.add(name);
      return names.every((name) => this.fired.has(name));
    };
    await until(fire, `${names} fire`, LIMIT).catch((error) => {
      throw new Error(`only these have fired: ${[...this.fired]}`, { cause: error });
    });
  }

  /** Resolves when all panels of the dashboard but these have shown something. */
  async shows(but: readonly string[] = []): Promise<void> {
    const queries = panels().flatMap(({ title, queries }) => but.includes(title) ? [] : queries);
    const shown = async () => {
      for (const query of queries.filter((query) => !this.shown.has(query))) {
        const samples = await this.#prometheus.query(query);
        if (samples.length > 0) this.shown.set(query, samples);
      }
      return queries.every((query) => this.shown.has(query));
    };
    // What has shown nothing by then fails below, with its name.
    await until(shown, "all panels show data", LIMIT).catch(() => {});
  }
}

/** Has locks go wrong until all alerts have fired. */
async function goWrong(server: RedisServer, seen: Seen): Promise<void> {
  await seen.fires("HoldfastStuckLock", "HoldfastStarvingWaiter", "HoldfastLeaseLost");
  assertEquals([...seen.fired].filter((name) => /Fault|Fails/.test(name)), [], "the store has not failed yet");
  // Without the server nothing is renewed, and a rate needs a second look at the target.
  await seen.shows(["Store faults"]);
  await server.kill();
  await seen.fires("HoldfastStoreFaults", "HoldfastAcquireFails");
  await seen.shows();
}

for (const [name, runtime] of Object.entries(RUNTIMES)) {
  Deno.test({
    name: `docs/operations/ has rules and a dashboard that work with metrics of ${name}`,
    ignore: ignore || !exists(runtime.command[0]!),
    fn: async (test) => {
      assert("program" in found);
      await using server = await RedisServer.start();
      const port = freePort();
      await using prometheus = await Prometheus.start(found.program, `127.0.0.1:${port}`, quickRules());
      const seen = new Seen(prometheus);
      const locks = holdLocks(runtime, [server.port, port]);
      try {
        await goWrong(server, seen);
      } finally {
        await end(locks);
      }
      await test.step("each rule has fired once, by a real fault", async () => {
        assertEquals([...seen.fired].sort(), (await prometheus.rules()).sort());
      });
      for (const { title, queries } of panels()) {
        await test.step(`the panel "${title}" shows data`, () => {
          for (const query of queries) {
            const samples = seen.shown.get(query) ?? [];
            assert(samples.length > 0 && samples.every(({ value }) => Number.isFinite(value)), query);
          }
        });
      }
      await test.step("the panel of lost leases shows the one that expired", () => {
        const query = panels().find(({ title }) => title === "Lost leases")?.queries[0] ?? "";
        assertEquals(seen.shown.get(query)?.map(({ labels, value }) => [labels["end"], value]), [["expired", 1]]);
      });
    },
  });
}

Deno.test("docs/operations/holdfast.rules.yml has no threshold or time that the test leaves", () => {
  const text = quickRules();
  assertEquals(text.match(/\b\d+m\b|> \d\d+\b/g), null);
  assertEquals(text.match(/alert:/g)?.length, 5);
});

Deno.test("docs/operations/ matches the names of metrics with and without their unit", () => {
  const texts = ["holdfast.rules.yml", "grafana.json"].map((file) => Deno.readTextFileSync(new URL(file, FOLDER)));
  const names = texts.flatMap((text) =>
    text.replaceAll(/^ *#.*$/gm, "").match(/holdfast_lock_(wait|hold)_[\w()?]+/g) ?? []
  );
  assert(names.length > 10, "the names were found");
  assertEquals(names.filter((name) => !/^holdfast_lock_(wait|hold)_(duration|oldest)\(_seconds\)\?/.test(name)), []);
});
