import { lines } from "../support/lines.ts";
import { RedisServer } from "../support/redis_server.ts";
import { RestFront } from "../support/rest_front.ts";
import { textOf } from "../support/test_files.ts";
import type { Build } from "./build.ts";
import { Child } from "./child.ts";
import { isSqlite } from "./files.ts";
import type { Host } from "./host.ts";
import type { Line, Settings } from "./inside/settings.ts";
import type { Runtime } from "./runtimes.ts";

/** How long nothing may be heard of a runtime, in milliseconds: longer than a test may take. */
const SILENCE = 90_000;

/** How long a process may take to end after its last test, in milliseconds: a timer or socket would keep it alive. */
const LINGER = 15_000;

/** What the tests in one runtime have come to. */
export interface Outcome {
  passed: number;
  /** What went wrong, with the name of the test. */
  readonly failures: string[];
  /** How many tests or test files were not run, by the reason. */
  readonly skipped: Map<string, number>;
}

/** Runs the tests in a runtime, and says after each how many have ended. */
export async function run(
  runtime: Runtime,
  build: Build,
  host: Host,
  progress: (ended: number) => void,
  over: AbortSignal,
): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failures: [], skipped: new Map() };
  for (const why of Object.values(runtime.without)) skip(outcome, why);
  if (runtime.process !== undefined) {
    await endsByItself(runtime, runtime.process, build, outcome, over);
    await listsLocks(runtime, runtime.process, build, outcome, over);
    await isRequired(runtime.process, build, outcome, over);
    if (runtime.example !== undefined) await runsOnce(runtime.process, runtime.example, build, outcome, over);
  }
  const args = await runtime.prepare(build);
  let ended = 0;
  const heard = () => progress(++ended);
  const parts = Array.from({ length: runtime.parts }, (_, index) => ({ index, of: runtime.parts }));
  const common = { runtime, args, build, host, over };
  const ends = await Promise.all(parts.map((part) => runPart({ ...common, part }, outcome, heard)));
  // What is skipped is in the files of one part, and not in those of the others.
  const idle = Object.keys(runtime.skip).filter((start) => !ends.some((skipped) => skipped.has(start)));
  outcome.failures.push(...idle.map((start) => `no test to skip begins with "${start}"`));
  return outcome;
}

/** Some of the tests, and where they run. */
interface Part {
  readonly runtime: Runtime;
  readonly part: Settings["part"];
  readonly args: string[];
  readonly build: Build;
  readonly host: Host;
  readonly over: AbortSignal;
}

/** Runs some of the tests in a process. Returns for which reasons of the runtime tests were skipped. */
async function runPart(
  { runtime, part, args, build, host, over }: Part,
  outcome: Outcome,
  progress: () => void,
): Promise<Set<string>> {
  const databases = await host.databases(runtime.databases);
  const [etcd, zookeeper] = [await host.etcd(), await host.zookeeper()];
  const missing = [
    ...runtime.databases.filter((client) => databases[client] === "").map((client) => `${client}: `),
    ...etcd === "" ? ["etcd() here: "] : [],
    ...zookeeper === "" ? ["zookeeper() here: "] : [],
  ];
  const settings: Settings = {
    host: host.url,
    freePorts: host.freePorts(8),
    skip: { ...runtime.skip, ...Object.fromEntries(missing.map((start) => [start, "there is no server"])) },
    clients: runtime.clients,
    databases,
    etcd,
    zookeeper,
    part,
  };
  const env = { HOLDFAST_SETTINGS: JSON.stringify(settings), TMPDIR: build.folder };
  using child = new Child(args, env, build.folder, over);
  let ended = false;
  let heard = 0;
  const skipped = new Set<string>();
  child.limit(SILENCE);
  for await (const text of lines(child.stdout)) {
    // A test may print something too.
    if (!text.startsWith(`{"type":`)) continue;
    const line: Line = JSON.parse(text);
    ended ||= line.type === "end";
    child.limit(ended ? LINGER : SILENCE);
    note(outcome, line);
    if (line.type === "end") {
      outcome.failures.push(...unheard(line.count, heard));
      continue;
    }
    heard++;
    progress();
    if (line.type === "skipped") {
      for (const start of Object.keys(runtime.skip)) if (line.name.startsWith(start)) skipped.add(start);
    }
  }
  const failure = await child.failure();
  if (!ended) {
    const why = failure ?? `exit status 0\n${await child.errors}`;
    outcome.failures.push(`the run ended before the last test: ${why}`);
  } else if (failure !== undefined) outcome.failures.push(`the process did not end well by itself: ${failure}`);
  return skipped;
}

/** Returns what is wrong when so many tests were defined, and so many results have come. */
export function unheard(count: number, heard: number): string[] {
  if (count === 0) return ["no test was defined"];
  return heard < count ? [`only ${heard} of ${count} tests have a result`] : [];
}

function note(outcome: Outcome, line: Line): void {
  if (line.type === "passed") outcome.passed++;
  if (line.type === "failed") outcome.failures.push(`${line.name}\n${line.error}`);
  if (line.type === "skipped") skip(outcome, line.why);
}

function skip(outcome: Outcome, why: string): void {
  outcome.skipped.set(why, (outcome.skipped.get(why) ?? 0) + 1);
}

/** Whether a program goes on while it waits for a lock, and ends by itself while it holds one. */
async function endsByItself(
  { without, clients }: Runtime,
  program: string,
  build: Build,
  outcome: Outcome,
  over: AbortSignal,
): Promise<void> {
  await using server = await RedisServer.start();
  await using front = new RestFront(server.port);
  const sites = {
    memory: [],
    ...(Object.keys(without).some(isSqlite) ? {} : { sqlite: [`${build.folder}/${crypto.randomUUID()}.db`] }),
    upstash: [front.url, front.token],
    ...Object.fromEntries(["ioredis 6", ...clients].map((client) => [client, [`${server.port}`]])),
  };
  for (const [kind, address] of Object.entries(sites)) {
    // What the last program holds lasts for the lease.
    await server.command("FLUSHALL");
    using child = new Child([program, build.inside("ends"), kind, ...address], {}, build.folder, over);
    child.limit(LINGER);
    const printed = await new Response(child.stdout).text();
    const failure = await child.failure();
    if (failure === undefined && printed === "timeout\nserved\n") outcome.passed++;
    else {outcome.failures.push(
        `a program waits for locks on ${kind}, and ends: ${failure ?? "it printed"}\n${printed}`,
      );}
  }
}

/** Whether the command line of the package works, and ends by itself. */
async function listsLocks(
  { without }: Runtime,
  program: string,
  build: Build,
  outcome: Outcome,
  over: AbortSignal,
): Promise<void> {
  await using server = await RedisServer.start();
  await server.command("SET", "lock:a", crypto.randomUUID(), "PX", 60_000);
  const file = `${build.folder}/${crypto.randomUUID()}.db`;
  const commands: Record<string, [args: string[], expected: RegExp]> = {
    help: [["--help"], /^Usage: holdfast VERB/m],
    redis: [
      ["ls", "--json", "--store", `redis://127.0.0.1:${server.port}`],
      /^{"name":"a","held":\[{.*}\],"pending":\[\]}\n$/,
    ],
    sqlite: [["show", "a", "--store", `sqlite:${file}`], /^a: nobody holds it, nobody waits for it in sqlite:.*\n$/],
  };
  for (const [what, [args, expected]] of Object.entries(commands)) {
    if (what === "sqlite" && Object.keys(without).some(isSqlite)) continue;
    if (what === "sqlite") await Deno.writeTextFile(file, "");
    using child = new Child([program, build.holdfast, ...args], {}, build.folder, over);
    child.limit(LINGER);
    const printed = await new Response(child.stdout).text();
    const failure = await child.failure();
    // Nobody holds the lock in the file, which is status 1.
    const ended = failure === undefined || what === "sqlite" && failure.startsWith("exit status 1\n");
    if (ended && expected.test(printed)) outcome.passed++;
    else outcome.failures.push(`holdfast ${args.join(" ")}: ${failure ?? "it printed"}\n${printed}`);
  }
}

/** Whether the program for CommonJS in the docs runs as it stands there. */
async function isRequired(program: string, build: Build, outcome: Outcome, over: AbortSignal): Promise<void> {
  const [, code = ""] = /^## CommonJS$[^]*?^```js\n([^]*?)^```$/m.exec(textOf("docs/typescript.md")) ?? [];
  const file = `${build.folder}/${crypto.randomUUID()}.cjs`;
  await Deno.writeTextFile(file, code);
  using child = new Child([program, file], {}, build.folder, over);
  child.limit(LINGER);
  const printed = await new Response(child.stdout).text();
  const failure = await child.failure();
  if (failure === undefined && /^charging with fence \d{16}n\n$/.test(printed)) outcome.passed++;
  else outcome.failures.push(`the program for CommonJS in the docs: ${failure ?? "it printed"}\n${printed}`);
}

/** Whether a program of examples/ does its job once, in two processes. */
async function runsOnce(program: string, example: string, build: Build, outcome: Outcome, over: AbortSignal) {
  await using server = await RedisServer.start();
  const file = `${build.folder}/${example}`;
  await Deno.copyFile(new URL(`../../examples/${example}`, import.meta.url), file);
  const env = { REDIS_URL: `redis://127.0.0.1:${server.port}` };
  const runs = await Promise.all([0, 1].map(async () => {
    using child = new Child([program, file, "2026-01-31"], env, build.folder, over);
    child.limit(2 * LINGER);
    const printed = await new Response(child.stdout).text();
    return { printed, failure: await child.failure() };
  }));
  const printed = runs.map(({ printed }) => printed).sort().join("");
  const once =
    /^the report of \S+ was already written under fence (\d{16})\nwriting .*\n.* is written under fence \1\n$/;
  const left = await server.leftovers();
  const ended = runs.every(({ failure }) => failure === undefined) && left.join() === "example:reports:2026-01-31";
  if (ended && once.test(printed)) outcome.passed++;
  else outcome.failures.push(`examples/${example}: ${runs.map(({ failure }) => failure)} ${left}\n${printed}`);
}
