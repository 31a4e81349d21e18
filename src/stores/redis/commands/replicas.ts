import type { RedisPort } from "../clients/port.ts";
import type { LockKeys } from "../keys/keys.ts";
import type { ReplicasSettings } from "../options.ts";
import { StoreError } from "../../../contract/errors.ts";
import type { Claim, Renewal } from "../../../contract/store.ts";
import type { Script } from "./command.ts";
import { renew, type RenewReply } from "./holder.ts";
import { isUnknownScript, type Runner } from "./runner.ts";
import { decodeNumber } from "./values.ts";

export class Replicas {
  /** The message of the error when too few replicas have a renewal. */
  readonly shortage: string;
  readonly #port: RedisPort;
  readonly #runner: Runner;
  readonly #settings: ReplicasSettings;

  constructor(port: RedisPort, runner: Runner, settings: ReplicasSettings) {
    this.#port = port;
    this.#runner = runner;
    this.#settings = settings;
    this.shortage = `fewer than ${settings.min} replicas had it within ${settings.timeout} ms`;
  }

  /** Renews a lock. Resolves once enough replicas have the renewal, or when they have taken too long. */
  async renew(lock: LockKeys, claim: Claim): Promise<RenewReply & { readonly replicated: boolean }> {
    const { cuts } = this.#port.connection;
    const { script } = renew;
    const { keys, args } = renew.encode(lock, claim);
    try {
      const [reply, count] = await runAndWait(this.#port, script, keys, args, this.#settings);
      return { ...renew.decode(reply, claim), replicated: decodeNumber(count) >= this.#settings.min };
    } catch (error) {
      throw this.#runner.failure(error, script, keys, cuts);
    }
  }

  /** Rejects, and releases the lock that was granted, unless enough replicas have it. A lost lock is not released. */
  async confirm(renew: () => Promise<Renewal | "short">, release: () => Promise<unknown>): Promise<void> {
    const outcome = await renew().catch(async (error) => {
      if (error instanceof StoreError) await release();
      throw error;
    });
    if (outcome === "lost") throw new Error("the lock was lost before its replicas had it");
    if (outcome === "short") {
      await release();
      throw new StoreError(this.shortage);
    }
  }
}

/**
 * Runs a script and then WAIT, over one connection. WAIT counts the replicas that have the earlier writes of its own
 * connection. On a new connection, perhaps to a server that was promoted without the lock, it would report success at
 * once.
 *
 * A Cluster client that finds the lock's slot on another node learns of the move by a separate command. While the slot
 * is being moved the pair keeps failing.
 */
async function runAndWait(
  port: RedisPort,
  { sha, source }: Script,
  keys: string[],
  argv: string[],
  { min, timeout }: ReplicasSettings,
): Promise<[reply: unknown, replicas: unknown]> {
  let known = true;
  let moved = false;
  for (;;) {
    try {
      return await port.evalAndWait!(known ? { sha } : { source }, keys, argv, min, timeout);
    } catch (error) {
      if (known && isUnknownScript(error)) known = false;
      else if (!moved && error instanceof Error && /^(MOVED|ASK) /.test(error.message)) {
        moved = true;
        await port.eval(source, keys, argv);
      } else throw error;
    }
  }
}
