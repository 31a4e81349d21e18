import type { Redis } from "ioredis";
import { COMPARE_AND_DELETE, LEASE } from "./bare.ts";

/**
 * The least that a lock on several masters can be: the bare pair on all of them at the same time, waiting for all. No
 * quorum, no time-outs, no fence.
 */
export class BareQuorum {
  readonly #clients: readonly Redis[];
  readonly #sha: string;

  private constructor(clients: readonly Redis[], sha: string) {
    this.#clients = clients;
    this.#sha = sha;
  }

  /** Loads the script. */
  static async on(clients: readonly Redis[]): Promise<BareQuorum> {
    const shas = await Promise.all(clients.map((client) => client.script("LOAD", COMPARE_AND_DELETE)));
    return new BareQuorum(clients, String(shas[0]));
  }

  /** Takes the lock and gives it back. */
  async run(key: string): Promise<void> {
    const owner = crypto.randomUUID();
    const taken = await Promise.all(this.#clients.map((client) => client.set(key, owner, "PX", LEASE, "NX")));
    if (taken.some((reply) => reply !== "OK")) throw new Error(`${key} is taken`);
    const freed = await Promise.all(this.#clients.map((client) => client.evalsha(this.#sha, 1, key, owner)));
    if (freed.some((reply) => reply !== 1)) throw new Error(`${key} was lost`);
  }
}
