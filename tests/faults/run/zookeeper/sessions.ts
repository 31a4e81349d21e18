import { Buffer } from "node:buffer";
import {
  closeClient,
  connected,
  type ZookeeperEnsemble,
  type ZookeeperServer,
} from "../../../support/zookeeper_server.ts";

/** What a server mixes into the passwords of sessions. */
const SECRET = 0xB3415C00n;

/** The generator of Java's `Random`: its factor, its summand and how many bits it has. */
const [FACTOR, SUMMAND, BITS] = [0x5DEECE66Dn, 0xBn, 48];

/** How many bytes a password has. */
const PASSWORD_BYTES = 16;

/** Returns the sessions that a server knows, whether they have a connection or not. */
export async function sessionsOf(server: ZookeeperServer): Promise<bigint[]> {
  const dump = await server.command("dump");
  return [...new Set(dump.match(/\b0x[0-9a-f]{8,16}\b/g) ?? [])].map(BigInt);
}

/** Ends a session as if it had expired: its client finds that out when it connects again. */
export async function expire({ address }: ZookeeperEnsemble, session: bigint): Promise<void> {
  const sessionId = Buffer.alloc(8);
  sessionId.writeBigUInt64BE(session);
  // Whoever has the password of a session is its client, and servers derive it from the number.
  await closeClient(connected(address, { sessionId, sessionPassword: passwordOf(session) }));
}

/** Returns the password of a session. */
export function passwordOf(session: bigint): Buffer {
  let seed = BigInt.asUintN(BITS, session ^ SECRET ^ FACTOR);
  const password = Buffer.alloc(PASSWORD_BYTES);
  for (let i = 0; i < PASSWORD_BYTES; i += 4) {
    seed = BigInt.asUintN(BITS, seed * FACTOR + SUMMAND);
    password.writeInt32LE(Number(BigInt.asIntN(32, seed >> 16n)), i);
  }
  return password;
}
