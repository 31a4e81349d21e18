import { fetchProgram, findProgram, type Found } from "./debian_programs.ts";

const NAME = "etcd";
const VARIABLE = "ETCD";

/** Finds etcd: the server that ETCD names, one in the PATH, or one that was unpacked. */
export function findEtcd(): Found {
  return findProgram(NAME, VARIABLE);
}

/** Finds etcd, or unpacks it, with `etcdctl` beside it, where apt-get can bring it. */
export function fetchEtcd(): Promise<Found> {
  return fetchProgram(NAME, VARIABLE, ["etcd-server", "etcd-client"]);
}
