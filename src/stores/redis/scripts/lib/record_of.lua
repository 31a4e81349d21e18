-- record_of. Only reads. Needs holders, fence_value.

-- Returns the record of a holder, if it has one; the value of the fence's key is given.
local function record_of(handle, value)
  local record = list_counts() and redis.pcall('HGET', KEYS.grants, handle)
  if type(record) == 'string' then return record end
  local last_granted, last_record = record_in(value)
  -- @place last-granted
  return handle == last_granted and last_record or nil
end
