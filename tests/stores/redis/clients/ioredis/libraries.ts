import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { Redis as Valkey } from "iovalkey";

/** The constructors of clients of ioredis's shape; what tests use of them is alike. */
export const OF_IOREDIS: Readonly<Record<string, typeof Redis>> = {
  "ioredis 6": Redis,
  "ioredis 5": Redis5 as unknown as typeof Redis,
  "iovalkey": Valkey as unknown as typeof Redis,
};
