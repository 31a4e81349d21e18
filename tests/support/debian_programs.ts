/** Where Debian packages are unpacked: beside the system, so that no service starts and none is replaced. */
export const UNPACKED = "/var/cache/holdfast-tests";

/** A program for the tests; without one, the reason. */
export type Found = { readonly program: string } | { readonly missing: string };

/**
 * Finds a program: the one that an environment variable names, one in the PATH, or one that was unpacked; `folders` are
 * those beside the PATH where its package has it.
 */
export function findProgram(name: string, variable: string, folders: readonly string[] = ["/usr/bin"]): Found {
  const named = Deno.env.get(variable);
  if (named !== undefined && named !== "") {
    return runs(named) ? { program: named } : { missing: `${variable}=${named} does not run` };
  }
  const places = folders.flatMap((folder) => [`${folder}/${name}`, `${UNPACKED}${folder}/${name}`]);
  const program = [name, ...places].find(runs);
  return program === undefined ? { missing: `there is no ${name}` } : { program };
}

/** Returns the environment for a program: one that was unpacked finds the libraries that were unpacked with it. */
export function librariesOf(program: string): Record<string, string> {
  if (!program.startsWith(UNPACKED)) return {};
  return { LD_LIBRARY_PATH: `${UNPACKED}/usr/lib/${Deno.build.arch}-linux-gnu` };
}

/**
 * Unpacks the packages that bring a program, with all that they need and the system does not have, where apt-get can do
 * that. Returns what the program is found as then.
 */
export async function unpackWithLibraries(
  packages: readonly string[],
  find: () => Found,
  variable: string,
): Promise<Found> {
  const found = find();
  if ("program" in found || Deno.env.get(variable)) return found;
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || !runs("apt-get")) return found;
  const scratch = await Deno.makeTempDir({ prefix: "holdfast_packages_" });
  try {
    console.log(`${found.missing}. Unpacking the Debian packages ${packages.join(", ")}`);
    await Deno.mkdir(`${scratch}/partial`);
    await run("apt-get", ["update", "-qq"], scratch);
    const archives = ["-o", `Dir::Cache::archives=${scratch}`];
    const download = ["install", "-qq", "-y", "--no-install-recommends", "--download-only"];
    await run("apt-get", [...download, ...archives, ...packages], scratch);
    await unpack(scratch);
    return find();
  } catch (error) {
    return { missing: `${found.missing}, and ${error instanceof Error ? error.message : error}` };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Unpacks the packages in a folder; but not the C library, which must be that of the system's loader. */
async function unpack(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".deb") && !name.startsWith("libc6_")) await run("dpkg", ["-x", name, UNPACKED], folder);
  }
  await mendLinks();
}

/**
 * Points links to what was unpacked, where the system does not have what they name: Java has its settings in `/etc`.
 */
async function mendLinks(): Promise<void> {
  const broken = await run("find", [UNPACKED, "-xtype", "l"], "/");
  for (const link of broken.split("\n").filter((line) => line !== "")) {
    const named = await Deno.readLink(link);
    const unpacked = `${UNPACKED}${named}`;
    const isThere = named.startsWith("/") && await Deno.lstat(unpacked).then(() => true, () => false);
    if (isThere) await run("ln", ["-sfn", unpacked, link], "/");
  }
}

/** Finds a program, or unpacks its Debian packages where apt-get can bring them. */
export async function fetchProgram(
  name: string,
  variable: string,
  packages: readonly string[],
  sources: (scratch: string) => Promise<string[]> = () => Promise.resolve([]),
): Promise<Found> {
  const found = findProgram(name, variable);
  if ("program" in found || Deno.env.get(variable)) return found;
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || !runs("apt-get")) return found;
  const scratch = await Deno.makeTempDir({ prefix: `holdfast_${name}_` });
  try {
    console.log(`missing: ${name}. Unpacking the Debian package`);
    const settings = await sources(scratch);
    await run("apt-get", [...settings, "update", "-qq"], scratch);
    await run("apt-get", [...settings, "download", "-qq", ...packages], scratch);
    await unpack(scratch);
    return findProgram(name, variable);
  } catch (error) {
    return { missing: `${found.missing}, and ${error instanceof Error ? error.message : error}` };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Runs a program; returns what it writes. */
export async function run(program: string, args: string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd, stdin: "null" }).output();
  if (!success) throw new Error(`${program} failed: ${new TextDecoder().decode(stderr).trim().split("\n").at(-1)}`);
  return new TextDecoder().decode(stdout);
}

function runs(program: string): boolean {
  try {
    const env = librariesOf(program);
    return new Deno.Command(program, { args: ["--version"], env, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}
