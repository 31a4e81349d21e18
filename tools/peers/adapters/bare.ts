import { BarePair } from "../../../bench/bare.ts";
import { BareQuorum } from "../../../bench/bare_quorum.ts";
import { connect } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** The least that a lock can be: two commands, which do not wait. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  const clients = await connect(ports, false);
  const bare = clients.length === 1 ? await BarePair.on(clients[0]!) : await BareQuorum.on(clients);
  // The key is as long as that of a Holdfast lock.
  return { pair: (name) => bare.run(`lock:${name}`) };
}
