import { fetchEtcd } from "../support/etcd.ts";
import { fetchMariadb } from "../support/mariadb.ts";
import { fetchLaterPostgres, fetchPgbouncer, fetchPostgres } from "../support/postgres.ts";
import { fetchPrometheus } from "../support/prometheus.ts";
import { fetchValkey } from "../support/valkey.ts";
import { fetchZookeeper } from "../support/zookeeper.ts";
import type { Found } from "../support/debian_programs.ts";
import { allTests, type Need, needsOf } from "./tiers.ts";

/** Whether nothing may be missing, and no test may be skipped. */
export const IN_CI = ![undefined, "", "0", "false"].includes(Deno.env.get("CI"));

/** A program that the tests start, and the Debian packages that bring it. */
interface Requirement {
  readonly need: Need;
  /** Any of these will do. */
  readonly programs: readonly string[];
  readonly packages: readonly string[];
  /** The environment variable that names it, for the tests too. */
  readonly variable?: string;
  /** How it is asked for its version; `--version` when left out. */
  readonly version?: string;
}

const REDIS = { programs: ["redis-server", "valkey-server"], packages: ["redis-server"], variable: "REDIS_SERVER" };
const COMPILER = { programs: ["cc", "gcc", "clang"], packages: ["gcc", "libc6-dev"], variable: "CC" };
const BROWSER = { programs: ["chromium", "chromium-browser", "google-chrome"], packages: ["chromium"] };

/** What is installed with the system's packages. */
const INSTALLED: readonly Requirement[] = [
  { need: "redis-server", ...REDIS },
  // For the library that moves a server's clock, and the program that stalls its disk.
  { need: "a C compiler", ...COMPILER },
  { need: "Chromium", ...BROWSER, variable: "CHROMIUM" },
  { need: "memcached", programs: ["memcached"], packages: ["memcached"], variable: "MEMCACHED" },
  // For certificates.
  { need: "OpenSSL", programs: ["openssl"], packages: ["openssl"], version: "version" },
  { need: "zsh, fish", programs: ["zsh"], packages: ["zsh"] },
  { need: "zsh, fish", programs: ["fish"], packages: ["fish"] },
];

/** What no test is skipped without. */
const REQUIRED: readonly Need[] = ["redis-server", "a C compiler"];

/** What would start a service if it were installed: it is unpacked beside the system. */
const UNPACKED: readonly { readonly need: Need; readonly variable: string; fetch(): Promise<Found> }[] = [
  { need: "Valkey", variable: "VALKEY_SERVER", fetch: fetchValkey },
  { need: "Prometheus", variable: "PROMETHEUS", fetch: fetchPrometheus },
  { need: "PostgreSQL", variable: "POSTGRES", fetch: fetchPostgres },
  { need: "PostgreSQL", variable: "POSTGRES_18", fetch: fetchLaterPostgres },
  { need: "pgbouncer", variable: "PGBOUNCER", fetch: fetchPgbouncer },
  { need: "MariaDB", variable: "MARIADBD", fetch: fetchMariadb },
  { need: "ZooKeeper", variable: "JAVA", fetch: fetchZookeeper },
  { need: "etcd", variable: "ETCD", fetch: fetchEtcd },
];

/**
 * Finds the programs that the tests start, and gives the environment that names them. What is missing is installed
 * where apt-get may do that.
 *
 * @param needs what is to be found; everything that tests need, when left out
 * @throws {Error} in one line, when something is missing that no test is skipped without; with CI=1 when anything is
 */
export async function requirements(
  needs: ReadonlySet<Need> = needsOf(...allTests()),
): Promise<Record<string, string>> {
  const wanted = INSTALLED.filter(({ need }) => needs.has(need));
  const reasons: string[] = [];
  const isMissing = (requirement: Requirement) => find(requirement) === undefined;
  // One after the other: apt-get runs alone.
  const absent = wanted.filter(isMissing);
  const required = absent.filter(({ need }) => REQUIRED.includes(need));
  if (required.length > 0) await install(required);
  const env: Record<string, string> = {};
  for (const { need, variable, fetch } of UNPACKED) {
    if (!needs.has(need)) continue;
    const found = await fetch();
    if ("program" in found) env[variable] = found.program;
    else reasons.push(found.missing);
  }
  const others = absent.filter(isMissing);
  if (others.length > 0) await install(others).catch((error: Error) => reasons.push(error.message));
  if (reasons.length > 0 && IN_CI) throw new Error(`With CI=1 no test may be skipped: ${reasons.join("; ")}`);
  if (reasons.length > 0) console.log(`Some tests are skipped: ${reasons.join("; ")}`);
  for (const requirement of wanted) {
    const program = find(requirement);
    if (requirement.variable !== undefined && program !== undefined) env[requirement.variable] = program;
  }
  return env;
}

function find({ programs, variable, version }: Requirement): string | undefined {
  const named = variable === undefined ? "" : Deno.env.get(variable);
  if (named === undefined || named === "") return programs.find((program) => runs(program, version));
  if (runs(named)) return named;
  throw new Error(`${variable}=${named} does not run`);
}

function runs(program: string, version = "--version"): boolean {
  try {
    return new Deno.Command(program, { args: [version], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

async function install(missing: readonly Requirement[]): Promise<void> {
  const packages = missing.flatMap((requirement) => requirement.packages);
  const names = missing.map(({ programs }) => programs.join(" or ")).join(", ");
  const how = `apt-get install ${packages.join(" ")}`;
  const named = missing.filter(({ variable }) => variable !== undefined);
  const variables = named.map(({ variable, programs }) => ` ${variable}=path/to/${programs[0]}`).join("");
  const what = `missing: ${names}. Install with "${how}"${named.length > 0 ? `, or set${variables}` : ""}`;
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || !runs("apt-get")) throw new Error(what);
  console.log(`missing: ${names}. Installing with "${how}"`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", ...packages]]) {
    const command = new Deno.Command("apt-get", { args, env, stdin: "null", stdout: "null", stderr: "piped" });
    const { success, stderr } = await command.output();
    if (!success) throw new Error(`${what} (apt-get ${args[0]} failed: ${new TextDecoder().decode(stderr).trim()})`);
  }
}
