import { Buffer } from "node:buffer";
import type { ZookeeperServer } from "../../support/zookeeper_server.ts";
import type { Place } from "./place.ts";

/** The end of each part of a snapshot: a checksum of all before it, and the text `/`. */
const SEAL_BYTES = 13;

/** What is between the last two of them: the digest of the tree. */
const DIGEST_BYTES = 20;

/**
 * What is between the data of a node and its version: the number of its list of rights, and four numbers of 8 bytes.
 */
const BEFORE_VERSION_BYTES = 40;

/** Makes nodes that have versions which would take years to reach: the name of a lock is its text. */
export async function setVersion(
  server: ZookeeperServer,
  place: Place,
  versions: Record<string, number>,
): Promise<void> {
  for (const name of Object.keys(versions)) await place.backend().write(name, name, undefined);
  // It writes a snapshot when it starts.
  await server.kill();
  await server.start();
  await server.kill();
  const folder = `${server.directory}/version-2`;
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name).filter((name) => name.startsWith("snapshot."));
  const [last] = names.sort((one, other) => parseInt(other.slice(9), 16) - parseInt(one.slice(9), 16));
  const bytes = Buffer.from(Deno.readFileSync(`${folder}/${last}`));
  for (const [name, version] of Object.entries(versions)) {
    const path = await place.nodeOf(name);
    const data = bytes.indexOf(path) + path.length;
    bytes.writeInt32BE(version, data + 4 + bytes.readInt32BE(data) + BEFORE_VERSION_BYTES);
  }
  for (const end of [SEAL_BYTES + DIGEST_BYTES + SEAL_BYTES, SEAL_BYTES]) {
    const at = bytes.length - end;
    bytes.writeBigInt64BE(BigInt(adler32(bytes.subarray(0, at))), at);
  }
  Deno.writeFileSync(`${folder}/${last}`, bytes);
  await server.start();
}

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return (b * 65_536 + a) >>> 0;
}
