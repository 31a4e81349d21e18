-- vote: grants the lock on one node of a quorum, and raises the counter of fences to the end of a block that begins
-- with a guess.
--
-- 1. Reserved for this handle, or free and nobody waits: grant. See lib/take.lua.
-- 2. Else what lib/grant_or_enqueue.lua says.
-- 3. Granted: the counter is set to the end of the block. Nearly every guess is higher than the counter: so it is set
--    first, and put back when it was not lower than the guess. That it was lower than the end is not enough: the part
--    of the block up to the counter may be another's. An end too far ahead of the server's clock sets nothing.
-- 4. A listing shows the holder with the guess as its fence if the counter was raised, see lib/fence_value.lua.
-- 5. Not granted: the quorum is told for how long the lock has been held, if nobody is ahead of the handle. It may then
--    do without the vote of this node.
--
-- After an error nothing is held, as in attempt.lua.
--
-- keys  lock queue waiters holders grants fence
-- args  handle lease_ms meta wakeup_address ticket kind guess max_clock_skew_ms block_end?
--
--   meta, wakeup_address, ticket, kind   as in attempt.lua, without ":steal"; empty for what is not given
--   max_clock_skew_ms                    how far the end of the block may be ahead of the server's clock
--   block_end                            the last fence of the block, left out when that is the guess
--
-- reply  block_end, a string   granted, and the counter is that now
--        { counter }           granted, but the counter was not lower than the guess, or the end is too far ahead
--        else                  as in attempt.lua, with a third number if nobody is ahead: see lib/held_for.lua
local handle, lease_ms, meta = ARGV.handle, ARGV.lease_ms, ARGV.meta
local ticket, kind = ARGV.ticket, ARGV.kind
-- include take

local in_list
if not taken then
  -- include holders expiry grants waiters notify queue revoke fence_value grant_or_enqueue
  local address = ARGV.wakeup_address
  local waiter = address ~= '' and { address = address, group = '', ticket = ticket }
  local reply = grant_or_enqueue(handle, kind, tonumber(lease_ms), meta, waiter, waiting)
  if reply then
    -- include record_of held_for
    if reply[1] ~= ':fence' then reply[3] = held_for(handle) end
    return with_refusal(reply)
  end
  in_list = stands_in_list(handle)
end

local fence, counter = ARGV.guess, ARGV.block_end or ARGV.guess
local since = time[1] .. string.sub('00000' .. time[2], -6)
-- @place guess-skew
local possible = tonumber(counter) <= math.min(since + ARGV.max_clock_skew_ms * 1000, $MAX_FENCE)
local unseen, ttl_ms = possible and not in_list, $FENCE_TTL_MS + math.max(0, math.ceil((counter - since) / 1000))
-- include set_fence
-- @place vote-raised
local raised = possible and number < tonumber(fence)
if raised and not in_list then return counter end

-- include fence_value note_grant
if number >= $MAX_FENCE then
  if possible then write_fence(last) end
  redis.call('DEL', KEYS.lock)
  return exhausted(last)
end
if not raised then fence, counter = '', string.format('%.0f', number) end
local record = format_record(fence, since, meta)
if possible then
  -- @place counter-put-back
  note_grant(handle, in_list, counter, record, last)
elseif in_list then
  write_record(handle, record)
end
if raised then return counter end
return { counter }
