/**
 * A process that raises a number under a lock on several masters, while those fail. Its argument is a {@linkcode Plan},
 * as JSON, and so is the {@linkcode Outcome} that it writes.
 *
 * The number is kept by a server that checks fences: reading and writing it show the fence, and a process that comes
 * with a smaller one than was seen is refused. So an update can be refused, but not be lost.
 *
 * @module
 */
import { Redis } from "npm:ioredis@^6";
import { acquire, LockError } from "../../mod.ts";
import { redlock } from "../../src/redlock/mod.ts";

/** What the process does. Durations are in milliseconds. */
export interface Plan {
  readonly masters: readonly number[];
  /** The port of the server that checks fences. */
  readonly register: number;
  /** How many updates are to be made. */
  readonly updates: number;
  readonly lease: number;
  readonly nodeTimeout: number;
}

/** What became of it. */
export interface Outcome {
  /** Updates that the register has taken. */
  readonly taken: number;
  /** Those that it has refused. */
  readonly refused: number;
  /** The fences of the turns after which the lock was not held any more: others may have had theirs before. */
  readonly late: readonly string[];
  /** How often a lock could not be acquired, or was lost: the codes of the errors. */
  readonly failures: readonly LockError["code"][];
}

/**
 * KEYS: number, fence, turns. ARGV: fence. Notes whose turn it is, and when; replies the number, or -1 when refused.
 */
const READ = `
local time = redis.call('TIME')
redis.call('RPUSH', KEYS[3], ARGV[1] .. ' ' .. time[1] * 1000 + math.floor(time[2] / 1000))
if tonumber(ARGV[1]) <= tonumber(redis.call('GET', KEYS[2]) or 0) then return -1 end
redis.call('SET', KEYS[2], ARGV[1])
return tonumber(redis.call('GET', KEYS[1]) or 0)
`;

/** KEYS: number, fence. ARGV: fence, number. Replies 1 if that is the number now, 0 when refused. */
const WRITE = `
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or 0) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`;

const { masters, register, updates, lease, nodeTimeout }: Plan = JSON.parse(Deno.args[0] ?? "");
const server = new Redis(register, "127.0.0.1");
const clients = masters.map((port) => {
  const client = new Redis(port, "127.0.0.1", { retryStrategy: () => 50 });
  client.on("error", () => {});
  return client;
});
const store = redlock(clients, { nodeTimeout });
let taken = 0;
let refused = 0;
const late: string[] = [];
const failures: LockError["code"][] = [];
while (taken < updates) {
  try {
    await using lock = await acquire(store, "a", { lease });
    const fence = `${lock.fence}`;
    const number = Number(await server.eval(READ, 3, "number", "fence", "turns", fence));
    if (!lock.held) late.push(fence);
    if (number >= 0 && await server.eval(WRITE, 2, "number", "fence", fence, number + 1) === 1) taken++;
    else refused++;
  } catch (error) {
    if (!(error instanceof LockError)) throw error;
    failures.push(error.code);
  }
}
const outcome: Outcome = { taken, refused, late, failures };
console.log(JSON.stringify(outcome));
Deno.exit();
