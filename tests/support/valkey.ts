/**
 * Where the Debian packages of Valkey are unpacked: beside the system, so that no service starts and none is replaced.
 */
const UNPACKED = "/var/cache/holdfast-tests";

const PACKAGES = ["valkey-server", "valkey-tools"];

/** The Valkey server for the tests; without one, the reason. */
export type Valkey = { readonly program: string } | { readonly missing: string };

/** Finds a Valkey server: the one that VALKEY_SERVER names, one in the PATH, or one that was unpacked. */
export function findValkey(): Valkey {
  const named = Deno.env.get("VALKEY_SERVER");
  if (named !== undefined && named !== "") {
    return runs(named) ? { program: named } : { missing: `VALKEY_SERVER=${named} does not run` };
  }
  const program = ["valkey-server", `${UNPACKED}/usr/bin/valkey-server`].find(runs);
  return program === undefined ? { missing: "there is no valkey-server" } : { program };
}

/** Finds a Valkey server, or unpacks one where apt-get can bring it. */
export async function fetchValkey(): Promise<Valkey> {
  const found = findValkey();
  if ("program" in found || Deno.env.get("VALKEY_SERVER")) return found;
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || !runs("apt-get")) return found;
  const scratch = await Deno.makeTempDir({ prefix: "holdfast_valkey_" });
  try {
    console.log("missing: valkey-server. Unpacking the Debian package");
    await unpack(scratch);
    return findValkey();
  } catch (error) {
    return { missing: `${found.missing}, and ${error instanceof Error ? error.message : error}` };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Debian 12 has Valkey in its backports; later ones, and Ubuntu, have it among the others. */
async function unpack(scratch: string): Promise<void> {
  const sources: string[] = [];
  if (/^VERSION_CODENAME=bookworm$/m.test(await Deno.readTextFile("/etc/os-release"))) {
    const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    // From where the machine gets its packages anyway; updates of security come from a place of their own.
    const sites = await run("apt-get", ["indextargets", "--format", "$(SITE)", "Created-By: Packages"], scratch);
    const site = sites.split("\n").find((site) => site !== "" && !site.includes("security"));
    if (site === undefined) throw new Error("apt-get knows no place to get packages from");
    const list = `deb [signed-by=${keyring}] ${site} bookworm-backports main\n`;
    await Deno.writeTextFile(`${scratch}/sources.list`, list);
    await Deno.mkdir(`${scratch}/lists/partial`, { recursive: true });
    const settings = [`Dir::Etc::sourcelist=${scratch}/sources.list`, "Dir::Etc::sourceparts=-"];
    sources.push(...[...settings, `Dir::State::lists=${scratch}/lists`].flatMap((setting) => ["-o", setting]));
  }
  await run("apt-get", [...sources, "update", "-qq"], scratch);
  await run("apt-get", [...sources, "download", "-qq", ...PACKAGES], scratch);
  for await (const { name } of Deno.readDir(scratch)) {
    if (name.endsWith(".deb")) await run("dpkg", ["-x", name, UNPACKED], scratch);
  }
}

/** Runs a program; returns what it writes. */
async function run(program: string, args: string[], cwd: string): Promise<string> {
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
