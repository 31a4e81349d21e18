-- confirm: raises the counter of fences to a fence, or to the end of a block of fences that begins with it, for a handle
-- that holds the lock on this node of a quorum.
--
-- 1. The handle does not hold the lock: refuse. Without this two owners could get one fence.
-- 2. The counter is not lower than the fence: refuse. A repeat is refused too, which costs one round of votes.
-- 3. Set the counter to the end of the block.
--
-- keys  lock queue waiters holders fence
-- args  handle fence block_end?
--
--   block_end  the last fence of the block, left out when that is the fence
--
-- reply  1                       confirmed
--        0                       refused
--        { ":fence", counter }   the block ends above 2^53 - 1
local time = redis.call('TIME')
-- include holders
-- include write_fence
-- @place confirm-owner
if not is_holder(ARGV.handle) then return 0 end
local last, fence = redis.call('GET', KEYS.fence), tonumber(ARGV.fence)
if tonumber(ARGV.block_end or fence) > $MAX_FENCE then return { ':fence', last or '0' } end
-- @place confirm-compare
if (tonumber(last or 0) or 0) >= fence then return 0 end
write_fence(ARGV.block_end or ARGV.fence)
return 1
