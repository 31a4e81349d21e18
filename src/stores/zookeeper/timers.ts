import type { ServerTimers } from "../../engine/mod.ts";
import type { NodeConnection } from "./client.ts";
import { isMissing, isRefused } from "./failures.ts";
import type { LockNodes } from "./nodes.ts";
import type { ZookeeperStat } from "./options.ts";

/** The name of the clock's node below the path: no lock has it, because base64url has no colon. */
const NODE = ":clock";

/** The number that stands for any version. A late write does no harm: timers of an earlier epoch end later. */
const ANY_VERSION = -1;

/** How often a request is repeated because another client has made or removed the node meanwhile. */
const TRIES = 5;

/** A moment of the leader's clock. */
interface Stamp {
  /** The number of the leader's term. */
  readonly epoch: bigint;
  /** The moment, in milliseconds since the Unix epoch. */
  readonly time: number;
}

/** The present moment, and the first known moment of its epoch. */
interface LeaderTime extends Stamp {
  readonly first: number;
}

/**
 * Timers in ZooKeeper: each is a moment of the leader's clock, from the answer to a write, and a length. To learn the
 * present moment a client writes one node, which is a sync as well. A session does not qualify: a follower that is cut
 * off still answers pings after the leader has ended it.
 *
 * Moments of two leaders are not compared. A timer of an earlier epoch counts from the moment when the first client in
 * the present epoch made the node anew.
 */
export class ZookeeperTimers implements ServerTimers {
  readonly #connection: NodeConnection;
  readonly #node: string;
  readonly #nodes: LockNodes;

  constructor(connection: NodeConnection, path: string, nodes: LockNodes) {
    this.#connection = connection;
    this.#node = `${path}/${NODE}`;
    this.#nodes = nodes;
  }

  async start(ms: number, signal?: AbortSignal): Promise<string> {
    const { epoch, time } = await this.#read(signal);
    return `${epoch}/${time}/${Math.ceil(ms)}`;
  }

  async areOver(names: readonly string[]): Promise<(boolean | undefined)[]> {
    const now = await this.#read();
    return names.map((name) => isOver(name, now));
  }

  /** Writes the node, and returns the leader's clock from the answer. */
  async #read(signal?: AbortSignal): Promise<LeaderTime> {
    const data = this.#connection.bufferOf("");
    for (let tries = 1;; tries++) {
      try {
        const [stat] = await this.#connection.call<[ZookeeperStat]>((client, done) => {
          client.setData(this.#node, data, ANY_VERSION, done);
        }, signal);
        const [first, last] = [stampOf(stat.czxid, stat.ctime), stampOf(stat.mzxid, stat.mtime)];
        if (first.epoch === last.epoch) return { ...last, first: first.time };
        // With a version it would fail for as long as others write the node.
        await this.#nodes.remake(this.#node, data, ANY_VERSION);
      } catch (error) {
        if (tries === TRIES || signal?.aborted || !isRefused(error)) throw error;
        if (!isMissing(error)) continue;
        await this.#nodes.make(this.#node, data).catch((error) => {
          // Another client was faster.
          if (!isRefused(error)) throw error;
        });
      }
    }
  }
}

/** Returns whether a timer is over; `undefined` if the clock was set back since, or the name is another program's. */
function isOver(name: string, now: LeaderTime): boolean | undefined {
  const [, epoch, time, ms] = /^(\d+)\/(\d+)\/(\d+)$/.exec(name) ?? [];
  if (epoch === undefined) return undefined;
  const age = now.time - (BigInt(epoch) === now.epoch ? Number(time) : now.first);
  return age < 0 ? undefined : age >= Number(ms);
}

function stampOf(zxid: Uint8Array | undefined, time: Uint8Array | undefined): Stamp {
  return { epoch: numberIn(zxid) >> 32n, time: Number(numberIn(time)) };
}

/** Returns a number of 64 bits. The error is no `TypeError`: the request may have been executed. */
function numberIn(bytes: Uint8Array | undefined): bigint {
  if (bytes?.byteLength !== 8) throw new Error("The client of ZooKeeper gave a reply without the times of the node");
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0);
}
