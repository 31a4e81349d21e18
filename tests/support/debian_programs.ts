/** Where Debian packages are unpacked: beside the system, so that no service starts and none is replaced. */
const UNPACKED = "/var/cache/holdfast-tests";

/** A program for the tests; without one, the reason. */
export type Found = { readonly program: string } | { readonly missing: string };

/** Finds a program: the one that an environment variable names, one in the PATH, or one that was unpacked. */
export function findProgram(name: string, variable: string): Found {
  const named = Deno.env.get(variable);
  if (named !== undefined && named !== "") {
    return runs(named) ? { program: named } : { missing: `${variable}=${named} does not run` };
  }
  const program = [name, `${UNPACKED}/usr/bin/${name}`].find(runs);
  return program === undefined ? { missing: `there is no ${name}` } : { program };
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
    for await (const file of Deno.readDir(scratch)) {
      if (file.name.endsWith(".deb")) await run("dpkg", ["-x", file.name, UNPACKED], scratch);
    }
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
    return new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}
