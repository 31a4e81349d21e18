-- fence_value: the value of the fence's key, and the records of grants. Only reads. Needs `time`, the server's.
--
-- The value is `counter NUL handle NUL record`: the counter of fences, and what is known of the last grant to a sole
-- holder, because every grant writes this key anyway.
--
-- A record is for those who list locks: `fence:since`, and then the meta of the handle, JSON or nothing. `since` is the
-- server's clock in µs when the lock was granted. The numbers are left out where they are not known.
--
-- 1. The record of a handle in the list of holders is in the hash KEYS.grants, that of a sole holder in this value.
--    lib/set_fence.lua leaves out `fence:since` when both are the counter, as they mostly are.
-- 2. The record stays in this value after the release. It counts only while its handle holds the lock.
-- 3. A sole holder that others join is moved into the list. Its record follows with the next fence that is issued.
-- 4. A lock that is reserved for a waiter has no record before the waiter claims it.

-- The server's clock in µs, as text: as a number its 16 digits would not survive Lua's tostring.
local function clock_us()
  return time[1] .. string.sub('00000' .. time[2], -6)
end

local function format_record(fence, since, meta)
  return fence .. ':' .. since .. meta
end

-- Returns since when a record says that the lock is held, if it does.
local function since_in(record)
  return string.match(record or '', '^%d*:(%d+)')
end

local function format_fence_value(counter, handle, record)
  return counter .. '\0' .. handle .. '\0' .. record
end

-- Returns the counter in a value, 0 when there is none.
local function counter_in(value)
  local number = tonumber(string.match(value or '', '^[^%z]*')) or 0
  -- "nan" is no number.
  return number == number and number or 0
end

-- The reply of a script that finds no fence above the last one.
local function exhausted(value)
  return { ':fence', string.match(value or '0', '^[^%z]*') }
end

-- Returns the handle in a value and its record; nil when there is none.
local function record_in(value)
  if type(value) ~= 'string' then return end
  local counter, handle, record = string.match(value, '^(%d+)%z([^%z]*)%z(.*)$')
  if handle and not string.find(record, '^%d*:') then record = format_record(counter, counter, record) end
  return handle, record
end
