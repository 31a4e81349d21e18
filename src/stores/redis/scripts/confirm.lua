-- confirm: raises the counter of fences to a fence, or to the end of a block of fences that begins with it, for a handle
-- that holds the lock on this node of a quorum.
--
-- 1. The handle does not hold the lock: refuse. Without this two owners could get one fence.
-- 2. The counter is not lower than the fence: refuse. A repeat is refused too, which costs one round of votes.
-- 3. Set the counter to the end of the block, and note the fence for those who list the lock, see lib/records.lua.
--
-- keys  lock queue waiters holders grants fence
-- args  handle fence meta? block_end?
--
--   meta       as in attempt.lua
--   block_end  the last fence of the block, left out when that is the fence
--
-- reply  1                       confirmed
--        0                       refused
--        { ":fence", counter }   the block ends above 2^53 - 1
local time, handle = redis.call('TIME'), ARGV.handle
-- include holders
-- include write_fence
-- include records
-- include list_record
-- include note_grant
-- @place confirm-owner
if not is_holder(handle) then return 0 end
local value, fence = redis.call('GET', KEYS.fence), tonumber(ARGV.fence)
local last = string.match(value or '0', '^[^%z]*')
if tonumber(ARGV.block_end or fence) > $MAX_FENCE then return { ':fence', last } end
-- @place confirm-compare
if (tonumber(last) or 0) >= fence then return 0 end
local known, record = read_record(value)
if stands_in_list(handle) then
  record = redis.pcall('HGET', KEYS.grants, handle)
elseif known ~= handle then
  record = nil
end
local since = type(record) == 'string' and string.match(record, '^%d*:(%d+)')
since = since or time[1] .. string.sub('00000' .. time[2], -6)
note_grant(handle, ARGV.block_end or ARGV.fence, value, ARGV.fence .. ':' .. since .. (ARGV.meta or ''))
return 1
