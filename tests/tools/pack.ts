/**
 * Packs the package for npm: what `deno pack` makes, with the program `holdfast`, which that leaves out.
 *
 * @module
 */

const HELP = "Pack the package for npm: deno task pack FILE.tgz";

/** The programs of the package, by their names. */
const BIN = { holdfast: "src/cli/mod.js" };

/** Writes the package to a file. */
export async function pack(file: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_pack_" });
  try {
    const tarball = `${folder}/package.tgz`;
    const root = new URL("../../", import.meta.url).pathname;
    await run(Deno.execPath(), ["pack", "--quiet", "--allow-dirty", "--no-source-maps", `--output=${tarball}`], root);
    await run("tar", ["xzf", tarball, "-C", folder]);
    const path = `${folder}/package/package.json`;
    const manifest = { ...JSON.parse(await Deno.readTextFile(path)), bin: BIN };
    await Deno.writeTextFile(path, `${JSON.stringify(manifest, null, 2)}\n`);
    await run("tar", ["czf", file, "-C", folder, "package"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function run(program: string, args: string[], cwd?: string): Promise<void> {
  const options = { args, stdin: "null", ...cwd === undefined ? {} : { cwd } } as const;
  const { success, stderr } = await new Deno.Command(program, options).output();
  if (!success) throw new Error(`${program} ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}

if (import.meta.main) {
  const [file] = Deno.args;
  if (file === undefined || file.startsWith("-") || Deno.args.length > 1) {
    console.log(HELP);
    Deno.exitCode = ["--help", "-h"].includes(file ?? "") ? 0 : 2;
  } else await pack(file);
}
