/** What the register needs of a client. */
interface Evaluator {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/**
 * KEYS: fence, log, number. ARGV: fence, 1 to check it.
 *
 * Reading shows the fence as well as writing does: a holder that has read before its successor did must not write after
 * that. Replies the number, or -1 when refused, which is noted.
 */
const READ = `
if ARGV[2] == '1' then
  if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[1]) or 0) then
    local time = redis.call('TIME')
    redis.call('RPUSH', KEYS[2], ARGV[1] .. ' 0 0 ' .. time[1] * 1000 + math.floor(time[2] / 1000))
    return -1
  end
  redis.call('SET', KEYS[1], ARGV[1])
end
return tonumber(redis.call('GET', KEYS[3]) or 0)
`;

/** KEYS: fence, log, number. ARGV: fence, 1 to check it, number. Notes what was tried; replies 1, or 0 when refused. */
const WRITE = `
local accepted = 1
if ARGV[2] == '1' then
  if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[1]) or 0) then accepted = 0
  else redis.call('SET', KEYS[1], ARGV[1]) end
end
if accepted == 1 then redis.call('SET', KEYS[3], ARGV[3]) end
local time = redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('RPUSH', KEYS[2], ARGV[1] .. ' ' .. ARGV[3] .. ' ' .. accepted .. ' ' .. at)
return accepted
`;

/** The number that a lock protects, kept by a server that nothing happens to, which checks fences. */
export class Register {
  readonly #client: Evaluator;
  readonly #fences: boolean;

  /** Without fences it accepts everything, as most resources do. */
  constructor(client: Evaluator, fences: boolean) {
    this.#client = client;
    this.#fences = fences;
  }

  /** Returns the number; `undefined` when the fence is refused. */
  async read(lock: string, fence: bigint): Promise<number | undefined> {
    const number = Number(await this.#client.eval(READ, 3, ...keys(lock), `${fence}`, this.#fences ? "1" : "0"));
    return number < 0 ? undefined : number;
  }

  /** Sets the number; resolves to whether that was accepted. */
  async write(lock: string, fence: bigint, number: number): Promise<boolean> {
    const argv = [`${fence}`, this.#fences ? "1" : "0", `${number}`];
    return await this.#client.eval(WRITE, 3, ...keys(lock), ...argv) === 1;
  }
}

function keys(lock: string): [string, string, string] {
  return [`fence:${lock}`, logKey(lock), `number:${lock}`];
}

/** Returns the list of what was tried under a lock, in order: fence, number, 1 if accepted, time. */
export function logKey(lock: string): string {
  return `log:${lock}`;
}
