-- write_fence. Needs `time`, the server's.

-- Writes: keeps a fence until $FENCE_TTL_MS after the server's clock has reached it. A fence may be ahead of that
-- clock, and if it were forgotten before, a lower one would be issued.
local function write_fence(fence)
  local ahead = math.min(tonumber(fence), $MAX_FENCE) - time[1] * 1000000 - time[2]
  redis.call('SET', KEYS.fence, fence, 'PX', $FENCE_TTL_MS + math.max(0, math.ceil(ahead / 1000)))
end
