-- retake: gives the lock back to a handle that this node of a quorum has lost.
--
-- 1. The handle holds the lock: change nothing, so that a late repeat makes no lease shorter. Reply 1 if the counter of
--    fences is what step 4 makes of it.
-- 2. The counter is not what the caller saw: refuse. Others had the lock meanwhile.
-- 3. The handle does not fit beside the present holders: refuse.
-- 4. Grant, raise the counter to the fence if it is lower, and note the number of the handle's last renewal. What a
--    listing shows of the handle has no fence: here only the end of a block is known.
--
-- keys  lock queue waiters holders grants fence
-- args  handle lease_ms meta kind fence counter renewal?
--
--   meta, kind  as in attempt.lua
--   fence       that of the lock; of a block its end
--   counter     what the counter of fences must be
--   renewal     the number of the handle's last renewal
--
-- reply  1 held, with such a counter; 0 refused
local time = redis.call('TIME')
-- include fence_value
local value, expected = redis.call('GET', KEYS.fence), tonumber(ARGV.counter)
local counter, raised = counter_in(value), math.max(expected, tonumber(ARGV.fence))
-- include holders
local handle, kind = ARGV.handle, ARGV.kind == ':exclusive' and '' or ARGV.kind
if is_holder(handle) then return counter == raised and 1 or 0 end
-- @place retake-fence
if counter ~= expected then return 0 end
-- include expiry grants note_grant
move_sole_holder_to_list()
if list_counts() then remove_expired_holders() end
if not fits(kind, owner_of(handle)) then return 0 end
grant(handle, kind, tonumber(ARGV.lease_ms))
local in_list = stands_in_list(handle)
note_grant(handle, in_list, string.format('%.0f', raised), format_record('', clock_us(), ARGV.meta), value)
if ARGV.renewal and in_list then
  redis.call('ZADD', KEYS.holders, '-' .. ARGV.renewal, '::' .. handle)
elseif ARGV.renewal then
  redis.call('SET', KEYS.lock, ':exclusive#' .. ARGV.renewal .. ' ' .. handle, 'KEEPTTL')
end
return 1
