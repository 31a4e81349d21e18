/** Returns the settings of a server that keeps on disk all that it has answered, unless the machine fails. */
export function durable(directory: string): string[] {
  // Without fsync, since with "everysec" a slow one delays the writes that it is to follow beyond the answers.
  const aof = ["--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-min-size", "8mb"];
  return ["--dir", directory, ...aof];
}

/** Deletes what is in a directory. */
export async function empty(path: string): Promise<void> {
  for await (const { name } of Deno.readDir(path)) await Deno.remove(`${path}/${name}`, { recursive: true });
}
