-- confirm: raises the counter of fences to the end of a block, for a holder of the lock on this node of a quorum.
--
-- 1. The handle does not hold the lock: refuse. Without this two owners could get one fence.
-- 2. The counter is not lower than the fence: refuse. A repeat is refused too, which costs one round of votes.
-- 3. Set the counter to the end of the block, and note the fence for those who list the lock, see lib/fence_value.lua.
--
-- keys  lock queue waiters holders grants fence
-- args  handle fence meta? block_end?
--
--   meta              as in attempt.lua
--   fence, block_end  the first and the last of the block; the last is left out when it is the first
--
-- reply  1                       confirmed
--        0                       refused
--        { ":fence", counter }   the block ends above 2^53 - 1
local time, handle = redis.call('TIME'), ARGV.handle
-- include holders fence_value record_of note_grant
-- @place confirm-owner
if not is_holder(handle) then return 0 end
local value, block_end = redis.call('GET', KEYS.fence), ARGV.block_end or ARGV.fence
if tonumber(block_end) > $MAX_FENCE then return exhausted(value) end
-- @place confirm-compare
if counter_in(value) >= tonumber(ARGV.fence) then return 0 end
local since = since_in(record_of(handle, value)) or clock_us()
note_grant(handle, stands_in_list(handle), block_end, format_record(ARGV.fence, since, ARGV.meta or ''), value)
return 1
