/**
 * Packs the packages for npm: what `deno pack` makes of each, with the program `holdfast`, the modules for `require()`
 * and the lock as a peer, which that leaves out.
 *
 * @module
 */
import { gzipSync } from "node:zlib";
import { addCommonJs, COMMON_JS, type Entries } from "./common_js.ts";
import { type Package, PACKAGES } from "./packages.ts";

const HELP = "Pack the packages for npm, each as FOLDER/holdfast-NAME.tgz: deno task pack FOLDER";

/** The entry point that is a program, and its name. It is started, not loaded. */
const PROGRAM = { package: "@holdfast/cli", entry: ".", bin: { holdfast: "mod.js" } };

const ROOT = new URL("../../", import.meta.url).pathname;

/** What is read of the package.json that `deno pack` writes. */
interface Manifest {
  readonly exports: Entries;
}

/** Writes all packages, or some of them, into a folder. Resolves to their paths, by their names. */
export async function pack(folder: string, packages: readonly Package[] = PACKAGES): Promise<Map<string, string>> {
  const files = new Map(packages.map(({ name }) => [name, `${folder}/${name.slice(1).replace("/", "-")}.tgz`]));
  await Promise.all(packages.map((each) => packOne(each, files.get(each.name)!)));
  return files;
}

async function packOne({ name, version, folder: source }: Package, file: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_pack_" });
  try {
    const tarball = `${folder}/package.tgz`;
    const args = ["pack", "--quiet", "--allow-dirty", "--no-source-maps", `--output=${tarball}`];
    await run(Deno.execPath(), args, ROOT + source);
    await run("tar", ["xzf", tarball, "-C", folder]);
    if (source !== "") await Deno.copyFile(`${ROOT}LICENSE`, `${folder}/package/LICENSE`);
    await leaveDocs(`${folder}/package`, `https://jsr.io/${name}/${version}`);
    const path = `${folder}/package/package.json`;
    const packed: Manifest = JSON.parse(await Deno.readTextFile(path));
    const files = filesOf(`${folder}/package/`);
    await Promise.all(files.filter((file) => file.endsWith(".js")).map(withoutComments));
    const paths = files.map((file) => file.slice(`${folder}/package/`.length));
    const isProgram = name === PROGRAM.package;
    const exports = await addCommonJs(
      `${folder}/package/`,
      paths,
      packed.exports,
      isProgram ? PROGRAM.entry : undefined,
    );
    const manifest = { ...packed, exports, typesVersions: typesVersions(packed) };
    const [lock] = PACKAGES;
    const peers = source === "" ? {} : { peerDependencies: { [lock!.name]: `^${lock!.version}` } };
    const bin = isProgram ? { bin: PROGRAM.bin } : {};
    await Deno.writeTextFile(path, `${JSON.stringify({ ...manifest, ...peers, ...bin }, null, 2)}\n`);
    await archive(file, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Leaves the pages out, which are half as large as the modules. The links of the README lead to where the pages are
 * published; links to files that are not published are dropped, with the dot before them.
 */
async function leaveDocs(folder: string, published: string): Promise<void> {
  const pages = new Set(filesOf(`${folder}/`).map((file) => file.slice(`${folder}/`.length)));
  await Deno.remove(`${folder}/docs`, { recursive: true }).catch(() => {});
  const readme = await Deno.readTextFile(`${folder}/README.md`);
  const linked = readme.replace(/(?: ·\s+)?\[[^\]]*\]\((?!https?:|#)([^)#]+)[^)]*\)/g, (link, path: string) => {
    return pages.has(path) ? link.replace("](", `](${published}/`) : "";
  });
  await Deno.writeTextFile(`${folder}/README.md`, linked);
}

/**
 * Compresses the package. A module is beside its CommonJS there: compression finds what is the same no further away.
 */
async function archive(file: string, folder: string): Promise<void> {
  const place = (path: string) => path.replace(`/${COMMON_JS}`, "/");
  const paths = filesOf(`${folder}/package/`).map((path) => path.slice(`${folder}/`.length));
  const list = `${folder}/files`;
  await Deno.writeTextFile(list, paths.sort((a, b) => place(a) < place(b) ? -1 : 1).join("\n"));
  const tarball = `${folder}/package.tar`;
  await run("tar", ["cf", tarball, "-C", folder, "-T", list]);
  await Deno.writeFile(file, gzipSync(await Deno.readFile(tarball), { level: 9 }));
}

/**
 * Takes the comments out of a module: its types have those for users, which editors show. They are a third of its text.
 */
async function withoutComments(path: string): Promise<void> {
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, text.replace(/^ *\/\*\*(?:(?!\*\/)[^])*\*\/(?: *\n| )?|^ *\/\/.*\n/gm, ""));
}

/** Returns the paths of the files under a folder. */
function filesOf(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    return isDirectory ? filesOf(`${folder}${name}/`) : [folder + name];
  });
}

/**
 * What TypeScript reads of the types of sub-paths where it does not read `exports`: with `moduleResolution: node10`.
 */
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
  const [folder] = Deno.args;
  if (folder === undefined || folder.startsWith("-") || Deno.args.length > 1) {
    console.log(HELP);
    Deno.exitCode = ["--help", "-h"].includes(folder ?? "") ? 0 : 2;
  } else {
    console.log("packing, for up to a minute …");
    for (const file of (await pack(folder)).values()) console.log(file);
  }
}
