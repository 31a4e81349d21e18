import type { Build } from "./build.ts";
import { command } from "./command.ts";
import type { Outcome } from "./run.ts";
import { MODULES } from "./versions.ts";

/** How a compiler finds packages, the modules that it makes, and the programs that it is given. */
interface Resolution {
  readonly moduleResolution: string;
  readonly module: string;
  readonly files: readonly string[];
}

const RESOLUTIONS: readonly Resolution[] = [
  { moduleResolution: "nodenext", module: "nodenext", files: ["program.ts", "common.cts"] },
  // Where CommonJS cannot require() the types of an ES module.
  { moduleResolution: "node16", module: "node16", files: ["program.ts", "common.cts"] },
  { moduleResolution: "bundler", module: "esnext", files: ["program.ts"] },
];

/** The old manner, which later compilers do not have. */
const OLD: Resolution = { moduleResolution: "node10", module: "commonjs", files: ["common.cts"] };

/** The compilers, and how each is asked to find packages. */
const COMPILERS = { typescript: [...RESOLUTIONS, OLD], typescript7: RESOLUTIONS };

/** A program that is compiled to CommonJS. */
const COMMON = `import { acquire, type Lock } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";

export const lock: Promise<Lock> = acquire(memory(), "a");
`;

/** Returns the versions of the compilers. */
export async function versions(): Promise<string> {
  const texts = Object.keys(COMPILERS).map((name) => Deno.readTextFile(`${MODULES}/${name}/package.json`));
  return (await Promise.all(texts)).map((text) => JSON.parse(text).version).join(", ");
}

/** Compiles a user's program on the types of the packed package, with each compiler and each way to find packages. */
export async function checkTypes(build: Build, progress: (ended: number) => void): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failures: [], skipped: new Map() };
  const folder = `${build.folder}/types`;
  await Deno.mkdir(folder);
  await Deno.copyFile(new URL("types/program.ts", import.meta.url), `${folder}/program.ts`);
  await Deno.writeTextFile(`${folder}/package.json`, `{"type":"module"}`);
  // The types of a program that is compiled to CommonJS, as docs/typescript.md has it.
  await Deno.writeTextFile(`${folder}/common.cts`, COMMON);
  for (const [compiler, resolutions] of Object.entries(COMPILERS)) {
    for (const { moduleResolution, module, files } of resolutions) {
      const configuration = {
        compilerOptions: {
          ...{ strict: true, noEmit: true, target: "es2022", lib: ["es2022", "esnext.disposable"] },
          ...{ module, moduleResolution, types: ["node"], typeRoots: [`${MODULES}/@types`] },
        },
        files,
      };
      const path = `${folder}/${compiler}_${moduleResolution}.json`;
      await Deno.writeTextFile(path, JSON.stringify(configuration));
      try {
        await command(`${MODULES}/node24/bin/node`, [`${MODULES}/${compiler}/bin/tsc`, "--project", path], folder);
        outcome.passed++;
      } catch (error) {
        outcome.failures.push(`${compiler}, moduleResolution ${moduleResolution}\n${(error as Error).message}`);
      }
      progress(outcome.passed + outcome.failures.length);
    }
  }
  return outcome;
}
