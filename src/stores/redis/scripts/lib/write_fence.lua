-- write_fence. Needs `time`, the server's.

-- Writes the value of the fence's key, a counter with or without a record (see lib/records.lua): keeps it until
-- $FENCE_TTL_MS after the server's clock has reached the counter. A fence may be ahead of that clock, and if it were
-- forgotten before, a lower one would be issued.
local function write_fence(value)
  local counter = tonumber(string.match(value, '^[^%z]*'))
  local ahead = math.min(counter, $MAX_FENCE) - time[1] * 1000000 - time[2]
  redis.call('SET', KEYS.fence, value, 'PX', $FENCE_TTL_MS + math.max(0, math.ceil(ahead / 1000)))
end
