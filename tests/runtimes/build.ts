import { COMMON_JS, names } from "../tools/common_js.ts";
import { pack } from "../tools/pack.ts";
import { PACKAGES } from "../tools/packages.ts";
import { command } from "./command.ts";
import { isSqlite, sharedTests } from "./files.ts";
import { MODULES } from "./versions.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

const NODE = `${MODULES}/node24/bin/node`;
const TSC = `${MODULES}/typescript/bin/tsc`;

/** The adapters for the std packages, which npm does not have. */
const STD = ["assert", "async", "uuid"];

/** The packed packages, as they would be installed, with the tests compiled into them. */
export interface Build {
  /** The folder that has it in its `node_modules`. */
  readonly folder: string;
  /** Writes the program that runs all tests but those of some files in one runtime, and gives its path. */
  program(runtime: string, main: "node" | "workerd", without: readonly string[]): Promise<string>;
  /** Returns the path of a program of the folder `inside/`. */
  inside(name: string): string;
  /** The command line, linked as npm links it. */
  readonly holdfast: string;
}

/**
 * Packs the packages as for npm, unpacks them, and puts the tests in their place beside each `src/`. Those beside the
 * lock lie in its folder, as in the repository, and are linked to their own places.
 */
export async function build(folder: string): Promise<Build> {
  const packed = await pack(folder);
  const modules = `${folder}/node_modules`;
  const installed = `${modules}/@holdfast/lock`;
  for (const { name, folder: place } of PACKAGES) {
    await Deno.mkdir(`${installed}/${place}`, { recursive: true });
    await command("tar", ["xzf", packed.get(name)!, "-C", `${installed}/${place}`, "--strip-components=1"]);
    if (place !== "") await Deno.symlink(`lock/${place.slice(0, -1)}`, `${modules}/${name}`);
  }
  const tests = sharedTests();
  await compile(tests, folder, installed);
  for (const name of STD) {
    await Deno.mkdir(`${modules}/@std/${name}`, { recursive: true });
    await Deno.writeTextFile(`${modules}/@std/${name}/package.json`, `{"type":"module","exports":"./mod.js"}`);
    const target = `../../@holdfast/lock/tests/tools/offline/${name}.js`;
    await Deno.writeTextFile(`${modules}/@std/${name}/mod.js`, `export * from ${JSON.stringify(target)};\n`);
  }
  const common = `${folder}/common/node_modules`;
  await Deno.mkdir(`${folder}/common`);
  await command("cp", ["-r", modules, common]);
  for (const { folder: place } of PACKAGES) await onCommonJs(`${common}/@holdfast/lock/${place}`);
  const holdfast = `${modules}/.bin/holdfast`;
  await Deno.mkdir(`${modules}/.bin`);
  const { bin } = JSON.parse(await Deno.readTextFile(`${installed}/packages/cli/package.json`));
  await Deno.symlink(`${installed}/packages/cli/${bin.holdfast}`, holdfast);
  return {
    folder,
    holdfast,
    program: async (runtime, main, without) => {
      const files = [
        ...tests.filter((file) => !without.includes(file)),
        ...["clients", "databases", "etcd", "zookeeper"].map((name) => `tests/runtimes/inside/${name}.ts`)
          .filter((file) => !without.includes(file)),
      ];
      if (without.some(isSqlite)) files.push("tests/runtimes/inside/no_sqlite.ts");
      const place = runtime.startsWith("node") ? `${common}/@holdfast/lock` : installed;
      const path = `${place}/${runtime}.js`;
      // Loaded by the program itself: workerd allows a file to make what it likes only while a request is answered.
      const loads = files.map((file) => `  "${file}": () => import("./${file.replace(/ts$/, "js")}"),`);
      const run = main === "node" ? "await run" : "export default worker";
      const start = main === "node" ? "run" : "worker";
      await Deno.writeTextFile(
        path,
        `import { ${start} } from "./tests/runtimes/inside/${main}.js";\n\n${run}({\n${loads.join("\n")}\n});\n`,
      );
      return path;
    },
    inside: (name) => `${installed}/tests/runtimes/inside/${name}.js`,
  };
}

/**
 * Puts in the place of each module of a package, whose path ends with a slash, one that names its CommonJS, which is
 * what Node loads.
 */
async function onCommonJs(installed: string): Promise<void> {
  const folder = installed + COMMON_JS;
  const modules = scripts(folder.slice(0, -1)).filter((path) => path.endsWith(".js"));
  await Promise.all(modules.map(async (path) => {
    const place = path.slice(folder.length);
    const up = place.split("/").slice(1).map(() => "../").join("");
    await Deno.writeTextFile(
      installed + place,
      names(`./${up}${COMMON_JS}${place}`, await Deno.readTextFile(path)),
    );
  }));
}

/** Compiles tests, and puts them in their place in the installed packages. */
async function compile(files: readonly string[], folder: string, installed: string): Promise<void> {
  const names = Array.from(Deno.readDirSync(`${ROOT}tests/runtimes/inside`), ({ name }) => name);
  const inside = names.map((name) => `tests/runtimes/inside/${name}`);
  const std = STD.map((name) => `tests/tools/offline/${name}.ts`);
  const configuration = {
    compilerOptions: {
      // "using" is younger than some of the runtimes.
      ...{ target: "es2022", lib: ["esnext", "dom"], module: "esnext", moduleResolution: "bundler" },
      ...{ rewriteRelativeImportExtensions: true, verbatimModuleSyntax: true, noCheck: true, types: [] },
      ...{ rootDir: ROOT, outDir: `${folder}/compiled` },
    },
    files: [...files, ...inside, ...std].map((file) => ROOT + file),
  };
  await Deno.writeTextFile(`${folder}/tsconfig.json`, JSON.stringify(configuration));
  await command(NODE, [TSC, "--project", `${folder}/tsconfig.json`], folder);
  // What was compiled of src/ stays out: the tests run on the packed files.
  // Not every package has tests for all runtimes.
  const folders = [...new Set(files.map((path) => path.slice(0, path.indexOf("tests/") + "tests".length)))];
  for (const tests of folders) await Deno.rename(`${folder}/compiled/${tests}`, `${installed}/${tests}`);
  const tests = `${installed}/tests`;
  for (const name of ["redis_server", "free_port"]) {
    await Deno.writeTextFile(`${tests}/support/${name}.js`, `export * from "../runtimes/inside/redis_server.js";\n`);
  }
  for (const path of folders.flatMap((tests) => scripts(`${installed}/${tests}`))) {
    // In the tests alone: the package has to do without.
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replaceAll(/\b(Promise\.withResolvers|Map\.groupBy)\(/g, "Deno.$1("));
  }
}

function scripts(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? scripts(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}
