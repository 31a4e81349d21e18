import { withoutCoverage } from "../../support/without_coverage.ts";

const FOLDER = new URL("./", import.meta.url).pathname;

/** The packages of npm that the pages in `docs/recipes/` use, which no other test loads. */
const PACKAGES = [
  `--config=${FOLDER}compiler_options.json`,
  `--import-map=${FOLDER}import_map.json`,
  `--lock=${FOLDER}deno.lock`,
  "--frozen",
];

/** What a program has written, and whether it ended well. */
export interface Ended {
  readonly success: boolean;
  readonly out: string;
  readonly err: string;
}

/** Makes a command of `deno` with the packages of the recipes, such as `["run", "-A", "program.ts"]`. */
function commandOf([verb = "run", ...args]: readonly string[], cwd: string, env: Record<string, string>): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: [verb, "--quiet", ...PACKAGES, ...args],
    cwd,
    clearEnv: true,
    env: { ...withoutCoverage(), NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs `deno` with the packages of the recipes, and resolves when it has ended. */
export async function denoWithPackages(
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<Ended> {
  const { success, stdout, stderr } = await commandOf(args, cwd, env).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
  return { success, out, err };
}

/** Runs a program with the packages of the recipes, and resolves to the lines that it writes; throws if it fails. */
export async function outputOf(source: string): Promise<string[]> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_recipes_" });
  try {
    await Deno.writeTextFile(`${directory}/program.ts`, source);
    const { success, out, err } = await denoWithPackages(["run", "--no-check", "-A", "program.ts"], directory);
    if (!success) throw new Error(`${out}${err}`);
    return out.trim().split("\n");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Runs a program with the packages of the recipes while `use` runs; then it is killed. */
export async function whileRuns(source: string, use: () => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_recipes_" });
  try {
    await Deno.writeTextFile(`${directory}/program.ts`, source);
    const child = commandOf(["run", "--no-check", "-A", "program.ts"], directory, {}).spawn();
    const output = child.output();
    const ended = output.then(({ stdout, stderr }) => {
      throw new Error([stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join(""));
    });
    await Promise.race([use(), ended]).finally(async () => {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended by itself.
      }
      await ended.catch(() => {});
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The code of a page for programs with these packages, as it stands there. */
export function blocksOf(page: string): string[] {
  const text = Deno.readTextFileSync(new URL(`../../../docs/recipes/${page}`, import.meta.url));
  return Array.from(text.matchAll(/^```ts packages\n([^]*?)^```$/gm), ([, code]) => code!);
}
