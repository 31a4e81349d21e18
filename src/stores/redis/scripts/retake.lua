-- retake: gives the lock back to a handle that this node of a quorum has lost.
--
-- 1. The handle holds the lock: change nothing, so that a late repeat makes no lease shorter. Reply 1 if the counter of
--    fences is what step 4 makes of it.
-- 2. The counter is not what the caller saw: refuse. Others had the lock meanwhile.
-- 3. The handle does not fit beside the present holders: refuse.
-- 4. Grant, raise the counter to the fence if it is lower, and note the number of the handle's last renewal.
--
-- keys  lock queue waiters holders fence
-- args  handle lease_ms kind fence counter renewal?
--
--   kind     as in attempt.lua
--   fence    that of the lock; of a block its end
--   counter  what the counter of fences must be
--   renewal  the number of the handle's last renewal
--
-- reply  1 held, with such a counter; 0 refused
local counter, expected = tonumber(redis.call('GET', KEYS.fence) or 0) or 0, tonumber(ARGV.counter)
local raised = math.max(expected, tonumber(ARGV.fence))
local time = redis.call('TIME')
-- include holders
local handle, kind = ARGV.handle, ARGV.kind == ':exclusive' and '' or ARGV.kind
if is_holder(handle) then return counter == raised and 1 or 0 end
-- @place retake-fence
if counter ~= expected then return 0 end
-- include expiry
-- include grants
-- include write_fence
move_sole_holder_to_list()
if list_counts() then remove_expired_holders() end
if not fits(kind, owner_of(handle)) then return 0 end
grant(handle, kind, tonumber(ARGV.lease_ms))
if raised > counter then write_fence(string.format('%.0f', raised)) end
if ARGV.renewal and stands_in_list(handle) then
  redis.call('ZADD', KEYS.holders, '-' .. ARGV.renewal, '::' .. handle)
elseif ARGV.renewal then
  redis.call('SET', KEYS.lock, ':exclusive#' .. ARGV.renewal .. ' ' .. handle, 'KEEPTTL')
end
return 1
