-- note_grant: writes the counter of fences, and the records. Needs fence_value.

-- Writes the value of the fence's key, for $FENCE_TTL_MS after the server's clock has reached the counter: a fence may
-- be ahead of that clock, and if it were forgotten before, a lower one would be issued.
local function write_fence(value)
  local ahead_us = math.min(counter_in(value), $MAX_FENCE) - clock_us()
  redis.call('SET', KEYS.fence, value, 'PX', $FENCE_TTL_MS + math.max(0, math.ceil(ahead_us / 1000)))
end

-- Writes the record of a handle in the list, which has its expiry by now. A record that cannot be written fails no
-- grant, because the lock is held by then.
local function write_record(handle, record)
  redis.pcall('HSET', KEYS.grants, handle, record)
  redis.call('PEXPIRE', KEYS.grants, redis.call('PTTL', KEYS.lock))
end

-- Writes the counter, and the record of a holder. A record in the value that the fence's key had goes to the list, if
-- its handle is there.
local function note_grant(handle, in_list, counter, record, value)
  if not in_list then return write_fence(format_fence_value(counter, handle, record)) end
  write_fence(counter)
  local last_granted, last_record = record_in(value)
  if last_granted and redis.call('ZSCORE', KEYS.holders, last_granted) then
    -- @place record-kept
    write_record(last_granted, last_record)
  end
  write_record(handle, record)
end
