/** A file beside this one. */
function here(file: string): string {
  return new URL(file, import.meta.url).pathname;
}

/**
 * What deno needs to run a program of this benchmark: the packages of its own import map, as its own lock file has
 * them, and no more than they have to do.
 */
export function denoArguments(program: string, flags: readonly string[], args: readonly string[]): string[] {
  // Without a configuration file: what stands there about the module would become part of the lock file.
  const packages = ["--no-config", "--import-map", here("import_map.json"), "--lock", here("deno.lock"), "--frozen"];
  return [
    ...["run", "--quiet", "--no-check", ...packages],
    ...["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-sys", ...flags, here(program), ...args],
  ];
}

/** Some libraries change prototypes in a way that Deno leaves out. */
export const UNSAFE_PROTO = "--unstable-unsafe-proto";
