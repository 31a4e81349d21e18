import { testFiles, TESTS, textOf } from "../support/test_files.ts";

/** What unit tests may do. They may neither start a process nor use the network, so that they can start no server. */
export const UNIT_PERMISSIONS: readonly string[] = ["--allow-read", "--allow-write", "--allow-env", "--allow-sys"];

/**
 * What tests need, by the path of a file that starts or loads it, and its text behind that: mostly the variable that
 * names a program. A test needs what its file and the files of the tests that it imports have.
 */
const SIGNS = {
  "processes": /\bDeno\.(Command|connect|listen)\b|"node:child_process"|\bconnect\b[^;]* from "node:net"/,
  "redis-server": /"REDIS_SERVER"/,
  "a C compiler": /"CC"/,
  "Sentinel, Cluster": /^tests\/deployments\/(sentinel|cluster)\.ts\n/,
  "Valkey": /"VALKEY_SERVER"/,
  "PostgreSQL": /"POSTGRES"/,
  "pgbouncer": /\bfindPgbouncer\b/,
  "MariaDB": /"MARIADBD"/,
  "etcd": /"ETCD"/,
  "ZooKeeper": /"JAVA"/,
  "memcached": /"MEMCACHED"/,
  "Prometheus": /"PROMETHEUS"/,
  "Chromium": /"CHROMIUM"/,
  "OpenSSL": /"openssl"/,
  "Deno KV, PGlite": /\bDeno\.openKv\(|\bnew PGlite\(/,
  "zsh, fish": /"zsh"/,
  "Node and Bun": /"\.\.\/\.\.\/\.runtimes\/"/,
  "other clients of Redis": /^testOver\(|^import .*\bIN_PART\b|from "(redlock[45]|redis-semaphore)"/m,
  "other stores": /^tests\/(engine|stores\/(postgres|mysql|etcd|zookeeper|deno_kv|durable_object))\//,
  "drop-ins": /^packages\/compat\/tests\/\w+_test\.ts\n/,
  "crowds of processes": /^tests\/faults\/\w+_test\.ts\n/,
  "tools of the project": /^(tests\/tools|bench|tools(?!\/lua\/))\/[\w/]+_test\.ts\n/,
  "packages of recipes": /\bdenoWithPackages\b/,
  "fault runs": /^import .* from "\.\/short_run\.ts"/m,
  "large models": /^tests\/verification\/\w+_large_test\.ts\n/,
  "planted faults": /^import .* from "\.\/(flaws|flawed_\w+)\.ts"/m,
} as const;

/** What starts no program, but is not what users of the README run. */
const CODE: readonly Need[] = ["Deno KV, PGlite", "other stores", "drop-ins", "tools of the project"];

/** What files need that take the longest, in this order. */
const LONGEST: readonly Need[] = ["ZooKeeper", "PostgreSQL", "MariaDB", "etcd"];

/** What computes all the time. */
const MODELS: readonly string[] = ["tests/simulation/", "tests/verification/", "tools/lua/"];

/** Something that tests need beyond Deno and the package. */
export type Need = keyof typeof SIGNS;

/** What the tests of a user of the README need, at most. */
const OF_README: readonly Need[] = ["processes", "redis-server"];

/** An import or export of code, not of types alone, from a file beside it; also one that is started as a process. */
const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?"(\.[^"]+)"|import\.meta\.resolve\("(\.[^"]+)"\)/gm;

/** Comments, which may show what they explain. */
const COMMENTS = /^ *(\/\/|\/?\*).*$/gm;

/** What the files of a tier need, and what it leaves out. */
export interface Tier {
  readonly files: readonly string[];
  readonly needs: ReadonlySet<Need>;
  /** What the files that it leaves out need and its own do not. */
  readonly without: readonly Need[];
}

/** Returns the paths of all test files. */
export function allTests(): string[] {
  return [...TESTS, "bench/", "tools/"].flatMap(testFiles);
}

/** Returns the tests of what a user of the README runs: they start nothing but a few processes and Redis servers. */
export function readmeTests(): Tier {
  return tier((needs) => [...needs].every((need) => OF_README.includes(need)));
}

/** Returns the tests that those of the README leave out. */
export function otherTests(): Tier {
  const { files } = readmeTests();
  return tier((_, path) => !files.includes(path));
}

/**
 * Returns the test files of the unit tier: those that neither start a process nor use the network, nor import what
 * does.
 */
export function unitTests(): string[] {
  return allTests().filter(isUnit);
}

/** Returns whether a test file is of the unit tier. */
export function isUnit(path: string): boolean {
  return [...needsOf(path)].every((need) => CODE.includes(need));
}

/** Returns whether a test file computes all the time. */
export function isModel(path: string): boolean {
  return MODELS.some((folder) => path.startsWith(folder));
}

/** Returns test files so that none of those that take the longest is begun last, and waited for alone. */
export function longestFirst(paths: readonly string[]): string[] {
  const rank = (path: string) => {
    const needs = needsOf(path);
    const found = LONGEST.findIndex((need) => needs.has(need));
    return found < 0 ? LONGEST.length : found;
  };
  return paths.map((path) => ({ path, rank: rank(path) })).toSorted((a, b) => a.rank - b.rank).map(({ path }) => path);
}

/** Returns whether a test file talks to processes and databases, whose clients have timers of their own. */
export function waitsForOthers(path: string): boolean {
  return [...needsOf(path)].some((need) => need === "Deno KV, PGlite" || !CODE.includes(need));
}

/** Returns what test files need. */
export function needsOf(...paths: readonly string[]): Set<Need> {
  const needs = new Set<Need>();
  const seen = new Set<string>();
  const visit = (path: string) => {
    // What the package itself does needs nothing.
    if (seen.has(path) || /^(packages\/\w+\/)?src\//.test(path)) return;
    seen.add(path);
    const text = textOf(path).replace(COMMENTS, "");
    for (const [need, sign] of Object.entries(SIGNS)) if (sign.test(`${path}\n${text}`)) needs.add(need as Need);
    for (const [, imported, resolved] of text.matchAll(IMPORT)) visit(resolve(path, (imported ?? resolved)!));
  };
  for (const path of paths) visit(path);
  return needs;
}

function tier(belongs: (needs: ReadonlySet<Need>, path: string) => boolean): Tier {
  const files: string[] = [];
  const others: string[] = [];
  for (const path of allTests()) (belongs(needsOf(path), path) ? files : others).push(path);
  const needs = needsOf(...files);
  const missing = needsOf(...others).difference(needs);
  return { files, needs, without: [...missing] };
}

/** Returns the path of a file that another one imports. */
function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
