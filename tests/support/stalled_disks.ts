import { compile } from "./c_compiler.ts";

/** Disks of servers, each of which can stall: what is written returns, and what waits for the disk does not. */
export class StalledDisks implements Disposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Compiles the program that lets them stall; rejects with a sentence that says why when that cannot be done. */
  static async make(): Promise<StalledDisks> {
    const disks = new StalledDisks(await Deno.makeTempDir({ prefix: "holdfast_stalled_" }));
    try {
      await compile(`${import.meta.dirname}/stalled_disk.c`, disks.#program);
      // A server that refuses to run as root sees it, too.
      await Deno.chmod(disks.#directory, 0o755);
      return disks;
    } catch (error) {
      disks[Symbol.dispose]();
      throw error;
    }
  }

  /** Resolves to whether they can stall here: the system must let a program decide about the calls of another one. */
  static async canStall(): Promise<boolean> {
    using disks = await StalledDisks.ifPossible();
    return disks !== undefined;
  }

  /** Returns disks that can stall, where the system lets them. */
  static async ifPossible(): Promise<StalledDisks | undefined> {
    const disks = await StalledDisks.make().catch(() => undefined);
    if (disks === undefined) return undefined;
    const [launcher, ...words] = disks.startedBy("none");
    const command = new Deno.Command(launcher!, { args: [...words, "true"], stderr: "null" });
    if (await command.output().then(({ success }) => success, () => false)) return disks;
    disks[Symbol.dispose]();
    return undefined;
  }

  /** Returns the words of a command that starts the program of the server with this name. */
  startedBy(name: string): string[] {
    return [this.#program, this.#file(name)];
  }

  /** Stalls the disk of a server. */
  stall(name: string): void {
    Deno.writeTextFileSync(this.#file(name), "");
  }

  /** Lets it go on. */
  resume(name: string): void {
    Deno.removeSync(this.#file(name));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#directory, { recursive: true });
  }

  get #program(): string {
    return `${this.#directory}/stalled_disk`;
  }

  #file(name: string): string {
    return `${this.#directory}/${name}`;
  }
}
