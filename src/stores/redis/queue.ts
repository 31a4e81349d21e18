import { CHANGES } from "./holds.ts";

/**
 * An entry of the waiters: when it was last seen (ms of the server's clock), PROVABLE or UNPROVABLE, its channel, and
 * what kind of lock it waits for, as in the lock's key; empty: exclusive.
 */
export const ENTRY = `
local function read(text)
  return string.match(text or '', '^(%d+)(.)(holdfast:[^:]+)(.*)$')
end

local function entry(hold)
  return read(redis.call('HGET', KEYS[3], hold))
end
`;

/**
 * Serves the queue, for `ms` milliseconds of lease. After HOLDS.
 *
 * As long as its head fits beside the holders, that is popped, the lock is reserved for it for the claim time, and it
 * is told; so shared waiters in a row are served together. The first that does not fit is told, too, if others were
 * served: it looks again after the claim time in case a reservation is never claimed. So is the first of another client
 * among the next eight: who vanishes without a word takes all waiters of its client along. A waiter that has not asked for
 * three polls, or whose channel nobody hears on a server where that is a proof, is dead and dropped: it comes back with
 * its old ticket should it live after all. A reservation instead of a grant, because a process that slept through the
 * message would believe in a lease that is over.
 *
 * `me` is the one that asks: it gets the lock itself, without a message. Returns whether it did.
 */
export const SERVE = CHANGES + ENTRY + `
local function leave(hold)
  redis.call('HDEL', KEYS[3], hold)
  return redis.call('ZREM', KEYS[2], hold)
end

local function serve(ms, me)
  local mine, served = false, false
  while true do
    local heads = redis.call('ZRANGE', KEYS[2], 0, 8)
    if #heads == 0 then return mine end
    local entries = redis.call('HMGET', KEYS[3], unpack(heads))
    for place, head in ipairs(heads) do
      local seen, provable, channel, kind = read(entries[place])
      local alive = seen and now - seen < 15000
      if alive and not fits(kind, named(head)) then
        if served and place > 2 then
          place, heads = 1, redis.call('ZRANGE', KEYS[2], 0, 7)
          entries = redis.call('HMGET', KEYS[3], unpack(heads))
        end
        for i = place, served and #heads or 0 do
          local _, _, other = read(entries[i])
          if other and heads[i] ~= me and (i == place or other ~= served) then
            redis.call('PUBLISH', other, '?' .. heads[i])
          end
          if other ~= served then break end
        end
        return mine
      end
      leave(head)
      if head == me then
        take(head, kind, ms)
        mine = true
      elseif alive and (redis.call('PUBLISH', channel, '!' .. head) > 0 or provable == '?') then
        take(head, kind, math.min(math.max(ms, 250), 1500))
        served = channel
      end
    end
  end
end
`;

/**
 * Takes the lock from whoever holds it, and tells them over the channel that all clients hear. After SERVE. Returns how
 * many holds there were.
 */
export const EVICT = `
local function evict()
  local list = { holder or nil }
  if several() or holder and redis.call('ZSCORE', KEYS[4], holder) then
    purge()
    list = redis.call('ZRANGE', KEYS[4], '(0', '+inf', 'BYSCORE')
  end
  for _, hold in ipairs(list) do redis.call('PUBLISH', 'holdfast:evicted', hold) end
  redis.call('DEL', KEYS[1], KEYS[4])
  holder = false
  return #list
end
`;
