-- inspect: tells how a lock is kept on this node of a quorum. Only reads.
--
-- keys  lock queue waiters holders grants fence
-- args  handle kind
--
--   kind  as in attempt.lua
--
-- reply  { 2, counter }   the handle holds the lock; the counter of fences is a string
--        { 1, counter }   the lock is free, or it is shared and the handle would share it
--        { 0, counter }   else
local time = redis.call('TIME')
-- include fence_value
local counter = string.format('%.0f', counter_in(redis.call('GET', KEYS.fence)))
-- include holders
if is_holder(ARGV.handle) then return { 2, counter } end
local present = sole and marker or holder
if not present or present == ':shared' and ARGV.kind == present then return { 1, counter } end
return { 0, counter }
