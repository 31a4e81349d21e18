import { withoutCoverage } from "../../tests/support/without_coverage.ts";
import { applied, type Change } from "./mutant.ts";
import type { Stage } from "./targets.ts";

/** The root of the repository. */
const ROOT = new URL("../../", import.meta.url);

/** What no test needs. */
const LEFT_OUT = /^(\.git|\.runtimes|node_modules|coverage|results\..*|.*\.tgz)$/;

/** How a run of tests has ended; `"empty"` without a test. */
export type Ending = "passed" | "failed" | "late" | "empty";

/** What stands at the end of a run in which something was tested. */
const TESTED = /^ok \| [1-9]\d* passed|, nothing wrong, in /m;

/** A temporary copy of the repository, in which mutants are tried one after the other. */
export class Workshop implements AsyncDisposable {
  readonly #directory: string;
  readonly #imports: readonly string[];
  #running: Deno.ChildProcess | undefined;
  #closed = false;

  private constructor(directory: string, imports: readonly string[]) {
    this.#directory = directory;
    this.#imports = imports;
  }

  /** Makes a copy; `imports` are the arguments that tell deno where packages are. */
  static async open(imports: readonly string[]): Promise<Workshop> {
    const directory = await Deno.makeTempDir({ prefix: "holdfast_mutants_" });
    // A database server does not run as root: it must get to its own folder in there.
    if (Deno.build.os !== "windows") await Deno.chmod(directory, 0o711);
    await copy(ROOT, directory);
    await Deno.mkdir(`${directory}/tmp`);
    return new Workshop(directory, imports);
  }

  /** The text of a file as it is in the copy. */
  read(path: string): Promise<string> {
    return Deno.readTextFile(`${this.#directory}/${path}`);
  }

  /** Runs something while files of the copy are changed. */
  async with<T>(changes: ReadonlyMap<string, string>, run: () => Promise<T>): Promise<T> {
    const before = new Map<string, string>();
    for (const path of changes.keys()) before.set(path, await this.read(path));
    try {
      for (const [path, text] of changes) await Deno.writeTextFile(`${this.#directory}/${path}`, text);
      return await run();
    } finally {
      if (!this.#closed) {
        for (const [path, text] of before) await Deno.writeTextFile(`${this.#directory}/${path}`, text);
      }
    }
  }

  /** Runs something while one change is made. */
  async changed<T>(path: string, change: Change, run: () => Promise<T>): Promise<T> {
    return await this.with(new Map([[path, applied(await this.read(path), change)]]), run);
  }

  /** Runs the tests of a stage, for so many milliseconds at the most. */
  async run(stage: Stage, files: readonly string[], ms: number): Promise<Ending> {
    const args = this.#command(stage, files);
    if (args === undefined) return "empty";
    const child = new Deno.Command(Deno.execPath(), {
      args,
      cwd: this.#directory,
      clearEnv: true,
      env: { ...withoutCoverage(), TMPDIR: `${this.#directory}/tmp`, NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      // A group of its own, which ends with it.
      detached: true,
    }).spawn();
    this.#running = child;
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#stop();
    }, ms);
    const output = new Response(child.stdout).text();
    const { success } = await child.status;
    clearTimeout(timer);
    this.#stop();
    this.#running = undefined;
    if (late) return "late";
    return !success ? "failed" : TESTED.test(await output) ? "passed" : "empty";
  }

  #command(stage: Stage, files: readonly string[]): string[] | undefined {
    const run = ["--no-check", "--quiet", ...this.#imports];
    if ("seeds" in stage) {
      return ["run", "--allow-all", ...run, "tests/simulation/main.ts", "--seeds", String(stage.seeds)];
    }
    const tests = files.filter((path) => stage.tests.test(path) && !stage.except?.test(path));
    if (tests.length === 0) return undefined;
    const filter = stage.filter === undefined ? [] : ["--filter", `/${stage.filter.source}/`];
    return ["test", "--preload=tests/tools/limit.ts", "--allow-all", "--fail-fast", ...run, ...filter, ...tests];
  }

  #stop(): void {
    try {
      if (this.#running !== undefined) Deno.kill(-this.#running.pid, "SIGKILL");
    } catch {
      // Nothing of the group is left.
    }
  }

  /** Stops what runs, and deletes the copy. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stop();
    await this.#running?.status;
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** Returns the files of the repository under some folders, by their paths. */
export async function files(...folders: string[]): Promise<string[]> {
  const found: string[] = [];
  const look = async (folder: string) => {
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
      if (LEFT_OUT.test(name)) continue;
      if (isDirectory) await look(`${folder}${name}/`);
      else found.push(`${folder}${name}`);
    }
  };
  for (const folder of folders) await look(folder);
  return found.sort();
}

/** Reads a file of the repository. */
export function source(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}

async function copy(from: URL, to: string): Promise<void> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (LEFT_OUT.test(name)) continue;
    if (isDirectory) {
      await Deno.mkdir(`${to}/${name}`);
      await copy(new URL(`${encodeURIComponent(name)}/`, from), `${to}/${name}`);
    } else if (isFile) {
      await Deno.copyFile(new URL(encodeURIComponent(name), from), `${to}/${name}`);
    }
  }
}
