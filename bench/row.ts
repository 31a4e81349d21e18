import type { RedisServer } from "../tests/support/redis_server.ts";
import type { Figure } from "./figure.ts";

/** What a row of the benchmark runs on. */
export interface Bench {
  readonly server: RedisServer;
  /** An empty directory that is removed at the end. */
  readonly directory: string;
  /** How much of the usual time a row may take, from 0 to 1. */
  readonly scale: number;
  /** What is to be stopped at the end, also when the row fails or is interrupted. */
  readonly stack: AsyncDisposableStack;
  /** Says how far the row is. */
  progress(text: string): void;
}

/** One row of the benchmark, or a few that are measured together. */
export type Row = (bench: Bench) => Promise<Figure[]>;
