/** A file system so small that it can be filled. */
export class SmallDisk implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Mounts one of so many MiB; rejects with a sentence that says why when that cannot be done. */
  static async mount(size: number): Promise<SmallDisk> {
    const path = await Deno.makeTempDir({ prefix: "holdfast_disk_" });
    try {
      await run("mount", "-t", "tmpfs", "-o", `size=${size}m`, "tmpfs", path);
    } catch (error) {
      await Deno.remove(path);
      throw new Error(`no small disk: ${error instanceof Error ? error.message : error}`);
    }
    return new SmallDisk(path);
  }

  /** Takes all the space that is left. */
  fill(): void {
    using file = Deno.openSync(this.#filler, { create: true, append: true });
    // In smaller and smaller pieces: one that does not fit is not written in part.
    for (let size = 1 << 20; size >= 1; size = Math.floor(size / 16)) {
      try {
        for (const piece = new Uint8Array(size);;) file.writeSync(piece);
      } catch (error) {
        if (!isFull(error)) throw error;
      }
    }
  }

  /** Gives it back. */
  clear(): void {
    Deno.removeSync(this.#filler);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Lazily: a process that has just been killed may still have a file open.
    await run("umount", "--lazy", this.path);
    await Deno.remove(this.path);
  }

  get #filler(): string {
    return `${this.path}/filler`;
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && ("code" in error && error.code === "ENOSPC" || /os error 28/.test(error.message));
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stderr: "piped" }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
}
