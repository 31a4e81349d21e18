/**
 * Everything that must hold before a change lands, but for the tests: format, lint, types, docs, coverage, package,
 * size, scripts, and the faults that a test must notice.
 *
 * @module
 */
import { importArguments } from "./offline/arguments.ts";

const HELP = `Check format, lint, types, docs, coverage, the package and its size, pinned faults: deno task checks

The coverage is that of the last "deno task test" and, before the first one, not checked; with --coverage that fails.
"deno task ok" runs both.`;

/** The programs of the benchmark beside other libraries, which has packages of its own. */
const PEERS = ["main", "worker_process", "cold_process", "broker", "draw"].map((name) => `bench/peers/${name}.ts`);

const { exports } = JSON.parse(await Deno.readTextFile("deno.json"));
const entries: string[] = Object.values(exports);

async function main(args: string[]): Promise<number> {
  if (args.some((argument) => argument !== "--coverage")) {
    console.log(HELP);
    return args.every((argument) => ["--help", "-h"].includes(argument)) ? 0 : 2;
  }
  const measured = args.length > 0 || await Deno.stat("coverage").then(() => true, () => false);
  const imports = await importArguments();
  const steps: Record<string, string[]> = {
    "format": ["fmt", "--check"],
    "lint": ["lint"],
    "scripts, as they are built": ["task", "scripts", "--check"],
    "types, also of the code in the docs": ["check", "--doc", ...imports, "mod.ts", "src", "tests", "examples"],
    "types of the benchmark beside other libraries": [
      ...["check", "--no-config", "--no-lock", "--import-map=bench/peers/import_map.json", ...PEERS],
    ],
    "docs": ["doc", "--lint", ...entries],
    ...measured ? { "coverage": ["coverage", "--include=/src/", "coverage"] } : {},
    "package": ["publish", "--dry-run", "--allow-dirty"],
    "size": ["run", "--allow-read", "--allow-write", "--allow-run", "tests/tools/size.ts"],
    "pinned faults, which a test must notice": ["task", "mutants", "--pinned"],
  };
  if (!measured) console.log("none   coverage: deno task test has not run here");
  let failed = 0;
  for (const [name, args] of Object.entries(steps)) {
    const started = performance.now();
    const { success, stdout, stderr } = await new Deno.Command("deno", { args, stdin: "null" }).output();
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    // The sizes are worth knowing even so.
    const details = success && name === "size" ? `: ${new TextDecoder().decode(stdout).trim()}` : "";
    console.log(`${success ? "ok    " : "FAILED"} ${name} (${seconds} s)${details}`);
    if (success) continue;
    failed++;
    console.log(new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
  }
  return failed === 0 ? 0 : 1;
}

Deno.exitCode = await main(Deno.args);
