-- note_grant. Needs holders, write_fence, records, list_record.

-- Writes the counter of fences, which was in `value`, and the record of a handle that holds the lock (see lib/records.lua).
-- Returns whether the handle is in the list.
local function note_grant(handle, counter, value, record)
  local in_list = stands_in_list(handle)
  if in_list then
    write_fence(counter)
    keep_record(value)
    write_record(handle, record)
  else
    write_fence(counter .. '\0' .. handle .. '\0' .. record)
  end
  return in_list
end
