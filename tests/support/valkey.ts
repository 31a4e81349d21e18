import { fetchProgram, findProgram, type Found, run } from "./debian_programs.ts";

const [NAME, VARIABLE] = ["valkey-server", "VALKEY_SERVER"];

/** Finds a Valkey server: the one that VALKEY_SERVER names, one in the PATH, or one that was unpacked. */
export function findValkey(): Found {
  return findProgram(NAME, VARIABLE);
}

/** Finds a Valkey server, or unpacks one where apt-get can bring it. */
export function fetchValkey(): Promise<Found> {
  return fetchProgram(NAME, VARIABLE, [NAME, "valkey-tools"], backports);
}

/** Debian 12 has Valkey in its backports; later ones, and Ubuntu, have it among the others. */
async function backports(scratch: string): Promise<string[]> {
  if (!/^VERSION_CODENAME=bookworm$/m.test(await Deno.readTextFile("/etc/os-release"))) return [];
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
  // From where the machine gets its packages anyway; updates of security come from a place of their own.
  const sites = await run("apt-get", ["indextargets", "--format", "$(SITE)", "Created-By: Packages"], scratch);
  const site = sites.split("\n").find((site) => site !== "" && !site.includes("security"));
  if (site === undefined) throw new Error("apt-get knows no place to get packages from");
  const list = `deb [signed-by=${keyring}] ${site} bookworm-backports main\n`;
  await Deno.writeTextFile(`${scratch}/sources.list`, list);
  await Deno.mkdir(`${scratch}/lists/partial`, { recursive: true });
  const settings = [`Dir::Etc::sourcelist=${scratch}/sources.list`, "Dir::Etc::sourceparts=-"];
  return [...settings, `Dir::State::lists=${scratch}/lists`].flatMap((setting) => ["-o", setting]);
}
