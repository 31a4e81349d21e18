-- issue_fence: issues the fence of a handle that stands in the list of holders, or for which the counter is in the way.
-- Writes. Needs KEYS.lock and KEYS.holders, fence_value and note_grant.
--
-- 1. The owner's fence, if it has one already.
-- 2. Else max(last + 1, the server's clock in µs), a hybrid logical clock (Kulkarni et al. 2014): it rises also after
--    its key was lost.
-- 3. The counter is left at the block's end, at most $BLOCK_LEAD_US µs ahead of the clock, unless the first fence is.
--
-- owner   that of the handle, which may hold the lock through several; nil for a fresh one
-- since   the server's clock in µs, as text
-- last    the value that the fence's key had
-- number  the counter in it
-- extra   how many fences it gets beside the first
--
-- Returns the fence, and how many it gets beside it; in their place, as the third value, the reply of the script.
local function issue_fence(handle, owner, since, meta, in_list, last, number, extra)
  local known = owner and -redis.call('ZSCORE', KEYS.holders, owner) or 0
  if known > 0 then
    local fence = string.format('%.0f', known)
    write_record(handle, format_record(fence, since, meta))
    return nil, nil, fence
  end
  if number >= $MAX_FENCE then
    write_fence(last)
    redis.call('DEL', KEYS.lock)
    return nil, nil, exhausted(last)
  end
  local clock = tonumber(since)
  local first = math.max(number + 1, clock)
  -- @place block-lead
  local highest = math.max(first, math.min(clock + $BLOCK_LEAD_US, $MAX_FENCE))
  extra = math.min(extra, highest - first)
  local fence = string.format('%.0f', first)
  if owner then redis.call('ZADD', KEYS.holders, '-' .. fence, owner) end
  -- @place block-end-ahead
  local counter = string.format('%.0f', first + extra)
  note_grant(handle, in_list, counter, format_record(fence, since, meta), last)
  return fence, extra
end
