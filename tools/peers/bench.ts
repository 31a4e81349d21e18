import type { PostgresServer } from "../../tests/support/postgres_server.ts";
import type { RedisServer } from "../../tests/support/redis_server.ts";
import { reason } from "../../tests/support/interruption.ts";
import { takeTurns } from "../../bench/turns.ts";
import type { Contender, Run } from "./contender.ts";
import type { Outcome, Result } from "./outcome.ts";

/** What a row runs on. */
export interface PeerBench {
  readonly server: RedisServer;
  /** Where the broker of the libraries that need one listens. */
  readonly broker: () => Promise<number>;
  /** The server of the libraries whose locks are in PostgreSQL. */
  readonly postgres: () => Promise<PostgresServer>;
  /** The ids of the libraries to measure. */
  readonly peers: readonly string[];
  readonly titles: ReadonlyMap<string, string>;
  readonly quick: boolean;
  /** What is to be stopped at the end, also when the row fails or is interrupted. */
  readonly stack: AsyncDisposableStack;
  progress(text: string): void;
}

/** Some tables that are measured together. */
export type PeerRow = (bench: PeerBench) => Promise<Outcome[]>;

/** Where a contender's server listens. */
export async function portOf({ peer }: Contender, { server, broker, postgres }: PeerBench): Promise<number> {
  if (peer.database) return (await postgres()).port;
  return peer.broker ? await broker() : server.port;
}

/**
 * Runs rounds of contenders in turns. One that fails or takes too long is left out of the rounds that follow, and the
 * note says why.
 */
export async function compete<T>(
  contenders: readonly Contender[],
  rounds: number,
  bench: PeerBench,
  measure: (contender: Contender, round: number) => Promise<T>,
): Promise<Run<T>[]> {
  const notes = new Map<Contender, string>();
  const results = await takeTurns({
    sides: contenders.length,
    rounds,
    measure: async (side, round) => {
      const contender = contenders[side]!;
      if (notes.has(contender)) return undefined;
      bench.progress(`round ${round + 1} of ${rounds}: ${contender.title}`);
      try {
        return await measure(contender, round);
      } catch (error) {
        notes.set(contender, reason(error));
        return undefined;
      }
    },
  });
  return contenders.map((contender, side) => {
    const note = notes.get(contender);
    const done = results[side]!.filter((result) => result !== undefined);
    return { contender, results: done as T[], ...(note === undefined ? {} : { note }) };
  });
}

/** A line of a table; a contender that finished no round has no values. */
export function line<T>({ contender, results, note }: Run<T>, values: (results: T[]) => Result["values"]): Result {
  const { peer, title, settings } = contender;
  return {
    id: peer.id,
    title,
    settings,
    values: results.length === 0 ? {} : values(results),
    ...(note === undefined ? {} : { note }),
  };
}
