/**
 * Everything that must hold before a change lands, but for the tests: format, lint, types, docs, coverage, packages,
 * size, scripts, and the faults that a test must notice.
 *
 * @module
 */
import { importArguments } from "./offline/arguments.ts";
import { entryPoints, PACKAGES } from "./packages.ts";

const HELP = `Check format, lint, types, docs, coverage, the package and its size, pinned faults: deno task checks

The coverage is that of the last "deno task test" and, before the first one, not checked; with --coverage that fails.
"deno task ok" runs both.`;

/** The programs of the benchmark beside other libraries, which has packages of its own. */
const PEERS = ["main", "worker_process", "cold_process", "broker", "draw"].map((name) => `tools/peers/${name}.ts`);

const PINNED = "pinned faults, which a test must notice";

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
    "types, also of the code in the docs": [
      "check",
      "--doc",
      ...imports,
      "mod.ts",
      "src",
      "packages",
      "tests",
      "bench",
      "examples",
      "tools",
    ],
    "types of the benchmark beside other libraries": [
      ...["check", "--no-config", "--no-lock", "--import-map=tools/peers/import_map.json", ...PEERS],
    ],
    "docs": ["doc", "--lint", ...entryPoints()],
    ...measured ? { "coverage": ["coverage", "--include=/src/", "coverage"] } : {},
    ...Object.fromEntries(PACKAGES.map(({ name, folder }) => {
      return [`package ${name}`, ["publish", "--dry-run", "--allow-dirty", `--config=${folder}deno.json`]];
    })),
    "size": ["run", "--allow-read", "--allow-write", "--allow-run", "tests/tools/size.ts"],
    [PINNED]: ["task", "mutants", "--pinned", "--jobs", "3"],
  };
  if (!measured) console.log("none   coverage: deno task test has not run here");
  let failed = 0;
  const check = async ([name, args]: [string, string[]]) => {
    const started = performance.now();
    const { success, stdout, stderr } = await new Deno.Command("deno", { args, stdin: "null" }).output();
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    // The sizes are worth knowing even so.
    const details = success && name === "size" ? `: ${new TextDecoder().decode(stdout).trim()}` : "";
    console.log(`${success ? "ok    " : "FAILED"} ${name} (${seconds} s)${details}`);
    if (success) return;
    failed++;
    console.log(new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
  };
  // Beside the faults: most of the others use one core.
  const { [PINNED]: pinned, ...others } = steps;
  const inTurn = async () => {
    for (const step of Object.entries(others)) await check(step);
  };
  await Promise.all([inTurn(), check([PINNED, pinned!])]);
  return failed === 0 ? 0 : 1;
}

Deno.exitCode = await main(Deno.args);
