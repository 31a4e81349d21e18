import { fetchEtcd } from "../support/etcd.ts";
import { fetchMariadb } from "../support/mariadb.ts";
import { fetchLaterPostgres, fetchPgbouncer, fetchPostgres } from "../support/postgres.ts";
import { fetchPrometheus } from "../support/prometheus.ts";
import { fetchValkey } from "../support/valkey.ts";
import { fetchZookeeper } from "../support/zookeeper.ts";

/** Whether nothing may be missing, and no test may be skipped. */
export const IN_CI = ![undefined, "", "0", "false"].includes(Deno.env.get("CI"));

/** A program that the tests start, and the Debian packages that bring it. */
interface Requirement {
  /** Any of these will do. */
  readonly programs: readonly string[];
  readonly packages: readonly string[];
  /** The environment variable that names it, for the tests too. */
  readonly variable?: string;
  /** How it is asked for its version; `--version` when left out. */
  readonly version?: string;
}

const REQUIREMENTS: readonly (Requirement & { readonly variable: string })[] = [
  { programs: ["redis-server", "valkey-server"], packages: ["redis-server"], variable: "REDIS_SERVER" },
  // For the library that moves a server's clock.
  { programs: ["cc", "gcc", "clang"], packages: ["gcc", "libc6-dev"], variable: "CC" },
];

/** What some tests start, which are skipped without it. */
const OPTIONAL: readonly Requirement[] = [
  { programs: ["chromium", "chromium-browser", "google-chrome"], packages: ["chromium"], variable: "CHROMIUM" },
  { programs: ["memcached"], packages: ["memcached"], variable: "MEMCACHED" },
  // For certificates.
  { programs: ["openssl"], packages: ["openssl"], version: "version" },
  { programs: ["zsh"], packages: ["zsh"] },
  { programs: ["fish"], packages: ["fish"] },
];

/**
 * Finds the programs that the tests start, and gives the environment that names them. What is missing is installed
 * where apt-get may do that.
 *
 * @throws {Error} in one line, when something is missing that all tests need; with CI=1 when anything is
 */
export async function requirements(): Promise<Record<string, string>> {
  const missing = REQUIREMENTS.filter((requirement) => find(requirement) === undefined);
  if (missing.length > 0) await install(missing);
  // One after the other: apt-get runs alone.
  const fetched = {
    VALKEY_SERVER: await fetchValkey(),
    PROMETHEUS: await fetchPrometheus(),
    POSTGRES: await fetchPostgres(),
    POSTGRES_18: await fetchLaterPostgres(),
    PGBOUNCER: await fetchPgbouncer(),
    MARIADBD: await fetchMariadb(),
    JAVA: await fetchZookeeper(),
    ETCD: await fetchEtcd(),
  };
  const reasons = Object.values(fetched).flatMap((found) => "missing" in found ? [found.missing] : []);
  const absent = OPTIONAL.filter((requirement) => find(requirement) === undefined);
  if (absent.length > 0) await install(absent).catch((error: Error) => reasons.push(error.message));
  if (reasons.length > 0 && IN_CI) throw new Error(`With CI=1 no test may be skipped: ${reasons.join("; ")}`);
  if (reasons.length > 0) console.log(`Some tests are skipped: ${reasons.join("; ")}`);
  return {
    ...Object.fromEntries(REQUIREMENTS.map((requirement) => [requirement.variable, find(requirement) ?? ""])),
    ...Object.fromEntries(
      Object.entries(fetched).flatMap(([variable, found]) => {
        return "program" in found ? [[variable, found.program]] : [];
      }),
    ),
  };
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
