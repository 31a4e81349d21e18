-- take: grants a lock that is reserved for the handle, or that is free while nobody waits. Writes. Needs `handle`,
-- `lease_ms`, `ticket` and `kind`, the arguments of attempt.lua.
--
-- Most owners are fresh and most locks are free. So this comes first, and without any function: in Lua a function that
-- is defined costs time even if it is not called. The same holds for set_fence.
--
-- time      the server's clock, its seconds and microseconds
-- waiting   how many handles wait, 0 for one that has its reservation
-- reserved  whether the lock was reserved for the handle
-- taken     whether it is granted
local value = handle
if kind ~= '' then
  -- Only the list of holders can say that such a handle has the lock.
  local listed = string.find(handle, '/', 1, true) or kind == ':exclusive' or kind == ':steal'
  value = not listed and kind .. ' ' .. handle
end
local time = redis.call('TIME')
local reserved = value and ticket ~= '' and redis.call('GET', KEYS.lock) == value
local waiting = reserved and 0 or redis.call('ZCARD', KEYS.queue)
local taken = reserved
if reserved then
  -- @place reserved-lease
  redis.call('SET', KEYS.lock, value, 'PX', math.max(lease_ms, redis.call('PTTL', KEYS.lock)))
elseif value and waiting == 0 then
  taken = redis.call('SET', KEYS.lock, value, 'NX', 'PX', lease_ms)
end
