import { HOLDS } from "./holds.ts";
import { EVICT, SERVE } from "./queue.ts";

/**
 * Takes the lock. For `attempt` and `vote`, which have all KEYS and the first five ARGV in common: lock, queue, waiters,
 * holders, fence; hold, lease ms; to wait when busy how the waiter is reached (PROVABLE or UNPROVABLE and its channel)
 * and its ticket, empty when it has none; and, unless the lock is exclusive and the owner fresh, what is asked for:
 * `:exclusive`, `:steal`, `:shared` or `:permits=N`. What is not given is empty or left out.
 *
 * Most owners are fresh, and most locks free and nobody's turn, or reserved for the waiter that asks: that comes first.
 * Else, in this order:
 *
 * - The hold is held (reserved for it, or the reply to an earlier attempt was lost): granted. The lease that it has is
 *   never made shorter.
 * - Its owner holds the lock: granted past the queue, or a conflict if the owner would wait for itself.
 * - It steals: granted.
 * - Nobody waits and it fits beside the holders: granted.
 * - It comes to a lock with other permits: a conflict. Shared and exclusive are not: they wait for each other. Who has
 *   queued before came when things were otherwise.
 * - It queues, and the queue is served.
 *
 * A ticket is the server's clock in µs at the first enqueue, but later than every ticket in the queue, should the clock
 * have been set back. A waiter that was dropped returns with its ticket. A lock with permits is worth asking for again
 * when the first of its holds ends, any other when the last one does.
 *
 * An owner that has just got the lock has its other handles in the queue woken: they need not wait any more.
 *
 * After an error nothing is held: what can fail is done before the first write, and a fence is looked at first.
 *
 * Replies when busy: [ms to the next attempt, ticket]; on a conflict: [the present kind, `:exclusive` if need be; 1 if
 * the owner itself holds it]. Goes on when granted.
 */
export const TAKE = `
local lock, hold, ticket, kind = KEYS[1], ARGV[1], ARGV[4] or '', ARGV[5] or ''
local value = hold
if kind ~= '' then
  local named = string.find(hold, '/', 1, true) or kind == ':exclusive' or kind == ':steal'
  value = not named and kind .. ' ' .. hold
end
local time = redis.call('TIME')
local reserved = value and ticket ~= '' and redis.call('GET', lock) == value
local waiting = reserved and 0 or redis.call('ZCARD', KEYS[2])
local owner

if reserved then
  redis.call('SET', lock, value, 'PX', math.max(ARGV[2], redis.call('PTTL', lock)))
elseif not value or waiting > 0 or not redis.call('SET', lock, value, 'NX', 'PX', ARGV[2]) then
  local ms = tonumber(ARGV[2])
` +
  HOLDS + SERVE + EVICT + `
  local steal = kind == ':steal'
  owner = named(hold)
  if kind ~= '' then redis.call('GET', KEYS[5]) end
  if listed(hold) then purge() elseif kind ~= '' then redis.call('ZCARD', KEYS[4]) end
  if steal or kind == ':exclusive' then kind = '' end
  if holds(hold) then
    if holder == hold then ms = math.max(ms, redis.call('PTTL', lock)) end
    take(hold, kind, ms)
  elseif owner and listed(hold) and redis.call('ZSCORE', KEYS[4], owner) then
    if not fits(kind, owner) then return { holder, 1 } end
    leave(hold)
    take(hold, kind, ms)
  elseif steal then
    evict()
    leave(hold)
    take(hold, kind, ms)
  elseif waiting == 0 and fits(kind, owner) then
    take(hold, kind, ms)
  else
    local function permits(value)
      return plural(value) and string.match(value, '%d+')
    end
    if holder and ticket == '' and permits(holder) ~= permits(kind) then
      if not redis.call('ZSCORE', KEYS[2], hold) then return { several() and holder or ':exclusive', 0 } end
    end
    if ARGV[3] and ARGV[3] ~= '' then
      if ticket == '' then
        ticket = time[1] * 1000000 + time[2]
        local last = tonumber(redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2])
        if last and last >= ticket then ticket = last + 1 end
      end
      redis.call('HSET', KEYS[3], hold, now .. ARGV[3] .. kind)
      waiting = waiting + redis.call('ZADD', KEYS[2], 'NX', ticket, hold)
      redis.call('PEXPIRE', KEYS[2], '15000')
      redis.call('PEXPIRE', KEYS[3], '15000')
    end
    local open = not holder or several()
    if not (open and serve(ms, hold)) then
      if not open or redis.call('ZCARD', KEYS[2]) > 0 or not fits(kind, owner) then
        local left = redis.call('PTTL', lock)
        if permits(holder) then
          left = redis.call('ZRANGE', KEYS[4], '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2] - now
        end
        local rank = redis.call('ZRANK', KEYS[2], hold) or waiting
        if left < 0 then left = 5000 end
        return { math.min(left + 1 + rank * 20, 5000), redis.call('ZSCORE', KEYS[2], hold) or '' }
      end
      take(hold, kind, ms)
    end
  end
  if owner and waiting > 0 and tonumber(redis.call('ZSCORE', KEYS[4], owner)) == 0 then
    for _, other in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
      local _, _, channel = entry(other)
      if channel and named(other) == owner then redis.call('PUBLISH', channel, '!' .. other) end
    end
  end
end
`;
