-- attempt: grants the lock to a handle and issues its fence, or puts the handle into the queue.
--
-- 1. Reserved for this handle: grant.
-- 2. Free, and nobody waits: grant.
-- 3. Else what lib/grant_or_enqueue.lua says, with the owners and kinds that share a lock.
-- 4. Granted: the owner's fence if it has one already. Else the fence is max(last + 1, server's clock in µs), a hybrid
--    logical clock (Kulkarni et al. 2014), which still rises after its key was lost.
--
-- Most owners are fresh and most locks are free. Steps 1 and 2 therefore come first, and without any function: in Lua a
-- function that is defined costs time even if it is not called. vote.lua has the same lines.
--
-- A number of 16 digits does not survive Lua's tostring: the parts of the clock are joined as strings, other fences are
-- formatted.
--
-- After an error nothing is held. The fence is the only thing that can fail once the lock is set, and then the lock is
-- deleted.
--
-- keys  lock queue waiters holders fence
-- args  handle lease_ms wakeup_address? ticket? kind? digest...
--
--   wakeup_address  how the waiter is reached: $PROVABLE or $UNPROVABLE, and its channel; empty: it does not wait
--   ticket          its place in the queue, empty when it has none yet
--   kind            ":exclusive", ":steal", ":shared" or ":permits=N"; empty: exclusive, by a fresh owner
--   digest          with ":steal": the SHA-1 of each handle from which the lock may be taken, see lib/revoke.lua
--
-- reply  fence, a string                        granted
--        { ms to the next attempt, ticket }     busy
--        { kind that is held, 1 or 0 }          a conflict; 1: the owner itself holds it
--        { ":steal", digest... }                not stolen: others hold the lock, with these digests
--        { ":fence", last }                     there is no higher fence than the last one
local lock, handle, ticket, kind = KEYS.lock, ARGV.handle, ARGV.ticket or '', ARGV.kind or ''
-- What a sole holder has in the lock's key; false when only the list of holders can say it.
local value = handle
if kind ~= '' then
  local listed = string.find(handle, '/', 1, true) or kind == ':exclusive' or kind == ':steal'
  value = not listed and kind .. ' ' .. handle
end
local time = redis.call('TIME')
local reserved = value and ticket ~= '' and redis.call('GET', lock) == value
local waiting = reserved and 0 or redis.call('ZCARD', KEYS.queue)
local owner

if reserved then
  -- @place reserved-lease
  redis.call('SET', lock, value, 'PX', math.max(ARGV.lease_ms, redis.call('PTTL', lock)))
elseif not value or waiting > 0 or not redis.call('SET', lock, value, 'NX', 'PX', ARGV.lease_ms) then
  -- include holders
  -- include expiry
  -- include grants
  -- include waiters
  -- include notify
  -- include queue
  -- include revoke
  -- include grant_or_enqueue
  owner = owner_of(handle)
  local reply = grant_or_enqueue(handle, owner, kind, ticket, waiting)
  if reply then return reply end
end

if owner then
  local known = tonumber(redis.call('ZSCORE', KEYS.holders, owner))
  if known < 0 then return string.format('%.0f', -known) end
end
local fence = time[1] .. string.sub('00000' .. time[2], -6)
local last = redis.pcall('SET', KEYS.fence, fence, 'PX', '$FENCE_TTL_MS', 'GET')
if type(last) == 'table' then
  redis.call('DEL', lock)
  return last
end
local number = tonumber(last or 0)
-- @place fence-compare
if number and number >= tonumber(fence) then
  -- include write_fence
  if number >= $MAX_FENCE then
    write_fence(last)
    redis.call('DEL', lock)
    return { ':fence', last }
  end
  fence = string.format('%.0f', number + 1)
  write_fence(fence)
end
if owner then redis.call('ZADD', KEYS.holders, '-' .. fence, owner) end
return fence
