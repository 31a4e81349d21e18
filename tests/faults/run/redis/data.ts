/** Returns the settings of a server that keeps on disk all that it has answered, unless the machine fails. */
export function durable(directory: string): string[] {
  // Without fsync, since with "everysec" a slow one delays the writes that it is to follow beyond the answers.
  const aof = ["--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-min-size", "8mb"];
  return ["--dir", directory, ...aof];
}

/** A directory for the data of a server. */
export class DataDirectory implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync({ prefix: "holdfast_data_" });

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** Deletes what is in a directory. */
export async function empty(path: string): Promise<void> {
  for await (const { name } of Deno.readDir(path)) await Deno.remove(`${path}/${name}`, { recursive: true });
}
