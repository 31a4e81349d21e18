import type { Claim } from "@holdfast/lock";
import type { Redis } from "ioredis";
import type { Command } from "../../../src/stores/redis/commands/command.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { claimOf } from "../../support/claims.ts";
import { atTime } from "./at_time.ts";
import { reservesForLong } from "./long_reservations.ts";

/** When each test begins, in milliseconds of the clock that the scripts see. */
export const START = 1_700_000_000_000;

/**
 * Runs a command so many milliseconds after the start; with `pttl` that is how long every key is said to be left. What
 * it reserves does not end.
 */
export async function after<Input, Reply>(
  ms: number,
  client: Redis,
  command: Command<Input, Reply>,
  input: Input,
  pttl?: number,
): Promise<Reply> {
  const { keys, args } = command.encode(lockKeys("lock:a"), input);
  const source = reservesForLong(atTime(command.script, BigInt(START + ms) * 1_000n, pttl));
  return command.decode(await client.eval(source, keys.length, ...keys, ...args), input);
}

/** Returns the claim of an owner with a name: its handle stands in the list of holders, with a lease of its own. */
export function holder(lease: number, kind: "exclusive" | "shared" | number = "exclusive"): Claim {
  return claimOf("a", kind, lease, `owner ${crypto.randomUUID()}`);
}
