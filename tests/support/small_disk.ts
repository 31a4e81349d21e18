import { run } from "./debian_programs.ts";

/** Whether this process may make one. */
export const MAY_MOUNT = Deno.build.os === "linux" && Deno.uid() === 0 && await mayMount();

/** How much is written at a time to fill it, in bytes. */
const [CHUNK, LAST] = [1_000_000, 4_096];

/** A small file system in memory, which a test can fill. */
export class SmallDisk implements AsyncDisposable {
  /** Where it is. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Makes one of so many bytes. */
  static async make(bytes: number): Promise<SmallDisk> {
    const path = await Deno.makeTempDir({ prefix: "holdfast_disk_" });
    await run("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=0755`, "tmpfs", path], "/");
    return new SmallDisk(path);
  }

  /** Fills it, until nothing more can be written. */
  fill(): void {
    using file = Deno.openSync(this.#ballast, { create: true, append: true });
    for (const size of [CHUNK, LAST]) {
      try {
        for (const bytes = new Uint8Array(size);;) file.writeSync(bytes);
      } catch (error) {
        if ((error as { code?: string }).code !== "ENOSPC") throw error;
      }
    }
  }

  /** Deletes what it was filled with. */
  free(): void {
    Deno.removeSync(this.#ballast);
  }

  get #ballast(): string {
    return `${this.path}/ballast`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("umount", [this.path], "/");
    await Deno.remove(this.path);
  }
}

/** Root inside of a container may not mount anything. */
async function mayMount(): Promise<boolean> {
  const path = await Deno.makeTempDir({ prefix: "holdfast_disk_" });
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=1000000", "tmpfs", path], "/");
    await run("umount", [path], "/");
    return true;
  } catch {
    return false;
  } finally {
    await Deno.remove(path);
  }
}
