/**
 * Packs the package for npm: what `deno pack` makes, with the program `holdfast`, which that leaves out.
 *
 * @module
 */

const HELP = "Pack the package for npm: deno task pack FILE.tgz";

/** The programs of the package, by their names. */
const BIN = { holdfast: "src/cli/mod.js" };

/** What is read of the package.json that `deno pack` writes. */
interface Manifest {
  readonly exports: Readonly<Record<string, { readonly types: string }>>;
}

/** Writes the package to a file. */
export async function pack(file: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_pack_" });
  try {
    const tarball = `${folder}/package.tgz`;
    const root = new URL("../../", import.meta.url).pathname;
    await run(Deno.execPath(), ["pack", "--quiet", "--allow-dirty", "--no-source-maps", `--output=${tarball}`], root);
    await run("tar", ["xzf", tarball, "-C", folder]);
    const path = `${folder}/package/package.json`;
    const packed: Manifest = JSON.parse(await Deno.readTextFile(path));
    const manifest = { ...packed, bin: BIN, typesVersions: typesVersions(packed) };
    await Deno.writeTextFile(path, `${JSON.stringify(manifest, null, 2)}\n`);
    await run("tar", ["czf", file, "-C", folder, "package"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What TypeScript reads of the types of sub-paths where it does not read `exports`: with `moduleResolution: node10`. */
function typesVersions({ exports }: Manifest): Record<string, Record<string, readonly string[]>> {
  const files = Object.entries(exports).map(([path, { types }]) => [path.replace("./", ""), [types]] as const);
  return { "*": Object.fromEntries(files.filter(([path]) => path !== ".")) };
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
