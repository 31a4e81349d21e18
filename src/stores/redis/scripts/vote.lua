-- vote: grants the lock on one node of a quorum, and raises the counter of fences to a guess, or to the end of a block of
-- fences that begins with the guess.
--
-- 1. Reserved for this handle: grant.
-- 2. Free, and nobody waits: grant. (no functions: see attempt.lua, which begins with the same lines)
-- 3. Else what lib/grant_or_enqueue.lua says.
-- 4. Granted: the counter is set to the end of the block. Nearly every guess is higher than the counter: so it is set
--    first, and put back when it was not lower than the guess. That it was lower than the end is not enough: the part
--    of the block up to the counter may be another's. An end too far ahead of the server's clock sets nothing.
-- 5. What a listing shows of the holder is noted, see lib/fence_value.lua: the guess as its fence, if the counter was raised.
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
  -- include fence_value
  -- include grant_or_enqueue
  local reply = grant_or_enqueue(handle, owner_of(handle), kind, ticket, waiting)
  if reply then
    -- include record_of
    -- include held_for
    if reply[1] ~= ':fence' then reply[3] = held_for(handle) end
    return reply
  end
  in_list = stands_in_list(handle)
end

-- include fence_value
-- include note_grant
local guess, block_end = tonumber(ARGV.guess), ARGV.block_end or ARGV.guess
local since, last = clock_us(), nil
-- @place guess-skew
local possible = tonumber(block_end) <= math.min(since + ARGV.max_clock_skew_ms * 1000, $MAX_FENCE)
if possible and not in_list then
  local value = format_fence_value(block_end, handle, format_record(ARGV.guess, since, ARGV.meta))
  last = redis.pcall('SET', KEYS.fence, value, 'PX', fence_ttl_ms(block_end), 'GET')
else
  last = redis.pcall('GET', KEYS.fence)
end
if type(last) == 'table' then
  redis.call('DEL', lock)
  return last
end
local number, text = counter_in(last)
-- @place vote-raised
local raised = possible and number < guess
if number >= $MAX_FENCE then
  if possible then write_fence(last) end
  redis.call('DEL', lock)
  return { ':fence', text }
end
local counter = raised and block_end or string.format('%.0f', number)
local record = format_record(raised and ARGV.guess or '', since, ARGV.meta)
if in_list and not possible then
  write_record(handle, record)
elseif in_list or possible and not raised then
  -- @place counter-put-back
  note_grant(handle, in_list, counter, record, last)
end
if raised then return counter end
return { counter }
