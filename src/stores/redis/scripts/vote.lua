-- vote: grants the lock on one node of a quorum, and raises the counter of fences to a guess, or to the end of a block of
-- fences that begins with the guess.
--
-- 1. Reserved for this handle: grant.
-- 2. Free, and nobody waits: grant. (no functions: see attempt.lua, which begins with the same lines)
-- 3. Else what lib/grant_or_enqueue.lua says.
-- 4. Granted: the counter is set to the end of the block. Nearly every guess is higher than the counter: so it is set
--    first, and put back when it was not lower than the guess. That it was lower than the end is not enough: the part
--    of the block up to the counter may be another's. An end too far ahead of the server's clock sets nothing.
--
-- After an error nothing is held, as in attempt.lua.
--
-- keys  lock queue waiters holders fence
-- args  handle lease_ms wakeup_address ticket kind guess max_clock_skew_ms block_end?
--
--   wakeup_address, ticket, kind  as in attempt.lua, without ":steal"; empty for what is not given
--   max_clock_skew_ms             how far the end of the block may be ahead of the server's clock
--   block_end                     the last fence of the block, left out when that is the guess
--
-- reply  block_end or guess   granted, and the counter, a string, is that now
--        { counter }          granted, and the counter, a string, was not lower than the guess or must not become block_end
--        else                 as in attempt.lua
local lock, handle, ticket, kind = KEYS.lock, ARGV.handle, ARGV.ticket or '', ARGV.kind or ''
local value = handle
if kind ~= '' then
  local listed = string.find(handle, '/', 1, true) or kind == ':exclusive' or kind == ':steal'
  value = not listed and kind .. ' ' .. handle
end
local time = redis.call('TIME')
local reserved = value and ticket ~= '' and redis.call('GET', lock) == value
local waiting = reserved and 0 or redis.call('ZCARD', KEYS.queue)

if reserved then
  -- @place vote-reserved-lease
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
  local reply = grant_or_enqueue(handle, owner_of(handle), kind, ticket, waiting)
  if reply then return reply end
end

local guess, block_end = tonumber(ARGV.guess), ARGV.block_end or ARGV.guess
local last = tonumber(block_end)
local clock = time[1] * 1000000 + time[2]
-- @place guess-skew
local possible = last <= math.min(clock + ARGV.max_clock_skew_ms * 1000, $MAX_FENCE)
local counter
if possible then
  local ttl_ms = $FENCE_TTL_MS + math.max(0, math.ceil((last - clock) / 1000))
  counter = redis.pcall('SET', KEYS.fence, block_end, 'PX', ttl_ms, 'GET')
else
  counter = redis.pcall('GET', KEYS.fence)
end
if type(counter) == 'table' then
  redis.call('DEL', lock)
  return counter
end
local number = tonumber(counter or 0) or 0
-- Not a number: somebody has written "nan".
if number ~= number then number = 0 end
-- @place vote-raised
if possible and number < guess then return block_end end
-- include write_fence
if number >= $MAX_FENCE then
  if possible then write_fence(counter) end
  redis.call('DEL', lock)
  return { ':fence', counter }
end
counter = string.format('%.0f', number)
-- @place counter-put-back
if possible then write_fence(counter) end
return { counter }
