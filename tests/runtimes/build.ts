import { pack } from "../tools/pack.ts";
import { command } from "./command.ts";
import { isSqlite, sharedTests } from "./files.ts";
import { MODULES } from "./versions.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

const NODE = `${MODULES}/node24/bin/node`;
const TSC = `${MODULES}/typescript5/bin/tsc`;

/** The adapters for the std packages, which npm does not have. */
const STD = ["assert", "async", "uuid"];

/** The packed package, as it would be installed, with the tests compiled into it. */
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

/** Packs the package as for npm, unpacks it, and puts the tests in their place beside its `src/`. */
export async function build(folder: string): Promise<Build> {
  const tarball = `${folder}/package.tgz`;
  await pack(tarball);
  const modules = `${folder}/node_modules`;
  const installed = `${modules}/@holdfast/lock`;
  await Deno.mkdir(installed, { recursive: true });
  await command("tar", ["xzf", tarball, "-C", installed, "--strip-components=1"]);
  const tests = sharedTests();
  await compile(tests, folder, `${installed}/tests`);
  for (const name of STD) {
    await Deno.mkdir(`${modules}/@std/${name}`, { recursive: true });
    await Deno.writeTextFile(`${modules}/@std/${name}/package.json`, `{"type":"module","exports":"./mod.js"}`);
    const target = `../../@holdfast/lock/tests/tools/offline/${name}.js`;
    await Deno.writeTextFile(`${modules}/@std/${name}/mod.js`, `export * from ${JSON.stringify(target)};\n`);
  }
  const holdfast = `${modules}/.bin/holdfast`;
  await Deno.mkdir(`${modules}/.bin`);
  const { bin } = JSON.parse(await Deno.readTextFile(`${installed}/package.json`));
  await Deno.symlink(`${installed}/${bin.holdfast}`, holdfast);
  return {
    folder,
    holdfast,
    program: async (runtime, main, without) => {
      const files = [
        ...tests.filter((file) => !without.includes(file)),
        ...["clients", "databases", "etcd", "zookeeper"].map((name) => `runtimes/inside/${name}.ts`)
          .filter((file) => !without.includes(file)),
      ];
      if (without.some(isSqlite)) files.push("runtimes/inside/no_sqlite.ts");
      const path = `${installed}/tests/${runtime}.js`;
      // Loaded by the program itself: workerd allows a file to make what it likes only while a request is answered.
      const loads = files.map((file) => `  "${file}": () => import("./${file.replace(/ts$/, "js")}"),`);
      const run = main === "node" ? "await run" : "export default worker";
      const start = main === "node" ? "run" : "worker";
      await Deno.writeTextFile(
        path,
        `import { ${start} } from "./runtimes/inside/${main}.js";\n\n${run}({\n${loads.join("\n")}\n});\n`,
      );
      return path;
    },
    inside: (name) => `${installed}/tests/runtimes/inside/${name}.js`,
  };
}

async function compile(files: readonly string[], folder: string, tests: string): Promise<void> {
  const inside = Array.from(Deno.readDirSync(`${ROOT}tests/runtimes/inside`), ({ name }) => `runtimes/inside/${name}`);
  const std = STD.map((name) => `tools/offline/${name}.ts`);
  const configuration = {
    compilerOptions: {
      // "using" is younger than some of the runtimes.
      ...{ target: "es2022", lib: ["esnext", "dom"], module: "esnext", moduleResolution: "bundler" },
      ...{ rewriteRelativeImportExtensions: true, verbatimModuleSyntax: true, noCheck: true, types: [] },
      ...{ rootDir: ROOT, outDir: `${folder}/compiled` },
    },
    files: [...files, ...inside, ...std].map((file) => `${ROOT}tests/${file}`),
  };
  await Deno.writeTextFile(`${folder}/tsconfig.json`, JSON.stringify(configuration));
  await command(NODE, [TSC, "--project", `${folder}/tsconfig.json`], folder);
  // What was compiled of src/ stays out: the tests run on the packed files.
  await Deno.rename(`${folder}/compiled/tests`, tests);
  await Deno.writeTextFile(`${tests}/support/redis_server.js`, `export * from "../runtimes/inside/redis_server.js";\n`);
  for (const path of scripts(tests)) {
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
