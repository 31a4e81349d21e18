import { findProgram, type Found, unpackWithLibraries } from "./debian_programs.ts";

/** Finds MariaDB: the server that MARIADBD names, one in the PATH, or one that was unpacked. */
export function findMariadb(): Found {
  return findProgram("mariadbd", "MARIADBD", ["/usr/sbin", "/usr/bin"]);
}

/** Finds MariaDB, or unpacks it where apt-get can bring it. */
export function fetchMariadb(): Promise<Found> {
  return unpackWithLibraries(["mariadb-server-core"], findMariadb, "MARIADBD");
}
