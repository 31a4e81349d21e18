import { fetchProgram, findProgram, type Found } from "./debian_programs.ts";

const [NAME, VARIABLE] = ["prometheus", "PROMETHEUS"];

/** Finds Prometheus: the one that PROMETHEUS names, one in the PATH, or one that was unpacked. */
export function findPrometheus(): Found {
  return findProgram(NAME, VARIABLE);
}

/** Finds Prometheus, or unpacks it where apt-get can bring it. */
export function fetchPrometheus(): Promise<Found> {
  return fetchProgram(NAME, VARIABLE, [NAME]);
}
