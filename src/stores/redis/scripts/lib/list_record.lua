-- list_record: the records of the handles in the list. Needs records. All functions write. A record that cannot be written
-- fails no grant, because the lock is held by then.

-- Notes the record of a handle in the list. The list has its expiry by now.
local function write_record(handle, record)
  redis.pcall('HSET', KEYS.grants, handle, record)
  redis.call('PEXPIRE', KEYS.grants, redis.call('PTTL', KEYS.lock))
end

-- Moves the record in the value that the fence's key had to the list, if its handle is there.
local function keep_record(value)
  local handle, record = read_record(value)
  if handle and redis.call('ZSCORE', KEYS.holders, handle) then write_record(handle, record) end
end
