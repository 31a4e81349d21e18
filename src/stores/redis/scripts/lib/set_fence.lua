-- set_fence: sets the fence of a sole holder before the last one is known, which mostly is lower. Writes. Needs what
-- take has, `meta`, and
--
-- unseen   whether to set it; else the last one is only read
-- fence    what the handle gets
-- counter  what the counter is to be: the fence, or the end of a block that begins with it
-- since    the server's clock in µs, as text: as a number its 16 digits would not survive Lua's tostring
-- ttl_ms   how long to keep it
--
-- Without functions, this is the only other place that knows the formats of lib/fence_value.lua. It leaves the lock
-- free when it fails: the fence is the only thing that can fail once the lock is set.
--
-- last    what the value was
-- number  the counter that was in it, 0 when there was none
local last
if unseen then
  local record = meta
  if counter ~= since or fence ~= since then
    -- @place block-record
    record = fence .. ':' .. since .. meta
  end
  last = redis.pcall('SET', KEYS.fence, counter .. '\0' .. handle .. '\0' .. record, 'PX', ttl_ms, 'GET')
else
  last = redis.pcall('GET', KEYS.fence)
end
if type(last) == 'table' then
  redis.call('DEL', KEYS.lock)
  return last
end
-- The counter ends at a NUL, as tonumber() does in Lua 5.1; a pattern would take longer.
local number = tonumber(last or 0) or tonumber(string.match(last, '^[^%z]*')) or 0
-- "nan" is no number.
if number ~= number then number = 0 end
