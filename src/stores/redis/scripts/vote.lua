-- vote: grants the lock on one node of a quorum, and raises the counter of fences to a guess, or to the end of a block of
-- fences that begins with the guess.
--
-- 1. Reserved for this handle: grant.
-- 2. Free, and nobody waits: grant. (no functions: see attempt.lua, which begins with the same lines)
-- 3. Else what lib/grant_or_enqueue.lua says.
-- 4. Granted: the counter is set to the end of the block. Nearly every guess is higher than the counter: so it is set
--    first, and put back when it was not lower than the guess. That it was lower than the end is not enough: the part
--    of the block up to the counter may be another's. An end too far ahead of the server's clock sets nothing.
-- 5. What a listing shows of the holder is noted, see lib/records.lua: the guess as its fence, if the counter was raised.
--
-- 6. Not granted: the quorum is told for how long the lock has been held, if nobody is ahead of the handle. It may then
--    do without the vote of this node.
--
-- After an error nothing is held, as in attempt.lua.
--
-- keys  lock queue waiters holders grants fence
-- args  handle lease_ms meta wakeup_address ticket kind guess max_clock_skew_ms block_end?
--
--   meta, wakeup_address, ticket, kind
--                                 as in attempt.lua, without ":steal"; empty for what is not given
--   max_clock_skew_ms             how far the end of the block may be ahead of the server's clock
--   block_end                     the last fence of the block, left out when that is the guess
--
-- reply  block_end or guess   granted, and the counter, a string, is that now
--        { counter }          granted, and the counter, a string, was not lower than the guess or must not become block_end
--        else                 as in attempt.lua, busy and conflict with a third number if nobody is ahead: see
--                             lib/held_for.lua
local lock, handle, ticket, kind = KEYS.lock, ARGV.handle, ARGV.ticket or '', ARGV.kind or ''
local value = handle
if kind ~= '' then
  local listed = string.find(handle, '/', 1, true) or kind == ':exclusive' or kind == ':steal'
  value = not listed and kind .. ' ' .. handle
end
local time = redis.call('TIME')
local reserved = value and ticket ~= '' and redis.call('GET', lock) == value
local waiting = reserved and 0 or redis.call('ZCARD', KEYS.queue)
-- Whether the handle is in the list of holders.
local in_list

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
  if reply then
    -- include records
    -- include held_for
    if reply[1] ~= ':fence' then reply[3] = held_for(handle) end
    return reply
  end
  in_list = stands_in_list(handle)
end

local guess, block_end = tonumber(ARGV.guess), ARGV.block_end or ARGV.guess
local last = tonumber(block_end)
local clock = time[1] * 1000000 + time[2]
-- @place guess-skew
local possible = last <= math.min(clock + ARGV.max_clock_skew_ms * 1000, $MAX_FENCE)
local since_and_meta = time[1] .. string.sub('00000' .. time[2], -6) .. ARGV.meta
local before
if possible then
  local ttl_ms = $FENCE_TTL_MS + math.max(0, math.ceil((last - clock) / 1000))
  local value = block_end
  if not in_list then value = value .. '\0' .. handle .. '\0' .. ARGV.guess .. ':' .. since_and_meta end
  before = redis.pcall('SET', KEYS.fence, value, 'PX', ttl_ms, 'GET')
else
  before = redis.pcall('GET', KEYS.fence)
end
if type(before) == 'table' then
  redis.call('DEL', lock)
  return before
end
local number = tonumber(string.match(before or '', '^[^%z]*')) or 0
-- Not a number: somebody has written "nan".
if number ~= number then number = 0 end
-- @place vote-raised
local raised = possible and number < guess
local counter
if not raised then
  -- include write_fence
  if number >= $MAX_FENCE then
    if possible then write_fence(before) end
    redis.call('DEL', lock)
    return { ':fence', string.match(before, '^[^%z]*') }
  end
  counter = string.format('%.0f', number)
  local value = counter
  if not in_list then value = value .. '\0' .. handle .. '\0:' .. since_and_meta end
  -- @place counter-put-back
  if possible then write_fence(value) end
end
if in_list then
  -- include records
  -- include list_record
  if possible then keep_record(before) end
  write_record(handle, (raised and ARGV.guess or '') .. ':' .. since_and_meta)
end
if raised then return block_end end
return { counter }
