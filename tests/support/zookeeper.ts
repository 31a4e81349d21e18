import { findProgram, type Found, UNPACKED, unpackWithLibraries } from "./debian_programs.ts";

/** What runs a server: Java, and where its classes are. */
export interface ZookeeperProgram {
  readonly program: string;
  readonly classPath: string;
}

/** Where Debian has the archives of Java. */
const FOLDERS = ["/usr/share/java", `${UNPACKED}/usr/share/java`];

/** What a server needs of the packages. */
const ARCHIVES = [
  ...["zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-nop", "metrics-core", "snappy-java", "commons-io"],
  ...["netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver", "netty-transport"],
];

/** Finds ZooKeeper, and the Java that runs it: the one that JAVA names, one in the PATH, or one that was unpacked. */
export function findZookeeper(): ZookeeperProgram | { readonly missing: string } {
  const java = findJava();
  if ("missing" in java) return java;
  const paths = ARCHIVES.map((name) => FOLDERS.map((folder) => `${folder}/${name}.jar`).find(exists));
  if (paths.includes(undefined)) return { missing: "there is no ZooKeeper" };
  return { ...java, classPath: paths.join(":") };
}

/** Finds ZooKeeper, or unpacks it where apt-get can bring it, with Java if there is none. */
export function fetchZookeeper(): Promise<Found> {
  const java = "missing" in findJava() ? ["openjdk-17-jre-headless"] : [];
  return unpackWithLibraries(["libzookeeper-java", ...java], findZookeeper, "JAVA");
}

function findJava(): Found {
  const architecture = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
  return findProgram("java", "JAVA", ["/usr/bin", `/usr/lib/jvm/java-17-openjdk-${architecture}/bin`]);
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
