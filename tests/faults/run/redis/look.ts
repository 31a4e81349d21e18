import { lockKeys } from "../../../../src/stores/redis/keys/keys.ts";
import type { Look } from "../view.ts";

/** What looking needs of a client. */
export interface Evaluator {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/**
 * KEYS: all keys of a lock, that of the fence last. ARGV: ids. Looks through all that is kept, in whatever way, so that
 * no change of that can hide anything. Replies: 1 if any of the ids is anywhere; 1 if any is elsewhere than in the
 * second and the third key, those of the waiters; and 1 if any is in the second one, the queue, behind others. The
 * fifth key is passed over if it is a string: that names the members of a run also when they were served.
 */
const LOOK = `
local function texts(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then return { redis.call('GET', key) } end
  if kind == 'hash' then return redis.call('HGETALL', key) end
  if kind == 'zset' then return redis.call('ZRANGE', key, 0, -1) end
  if kind == 'list' then return redis.call('LRANGE', key, 0, -1) end
  if kind == 'set' then return redis.call('SMEMBERS', key) end
  return {}
end
local present, held, behind = 0, 0, 0
for i = 1, #KEYS - 1 do
  local members = i == 5 and redis.call('TYPE', KEYS[i]).ok == 'string'
  for rank, text in ipairs(members and {} or texts(KEYS[i])) do
    for _, id in ipairs(ARGV) do
      if string.find(text, id, 1, true) then
        present = 1
        if i ~= 2 and i ~= 3 then held = 1 end
        if i == 2 and rank > 1 then behind = 1 end
      end
    end
  end
end
return { present, held, behind }
`;

/** Asks a server directly what it keeps of some ids; rejects when it does not answer. */
export async function look(client: Evaluator, lock: string, ids: Iterable<string>): Promise<Look> {
  const keys = lockKeys(`lock:${lock}`);
  const [present, held, behind] = await client.eval(LOOK, keys.length, ...keys, ...ids) as [number, number, number];
  return { present: present === 1, held: held === 1, behind: behind === 1 };
}
