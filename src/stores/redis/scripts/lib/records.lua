-- records: what is known of a grant beside who holds the lock. Only those who list locks need it. Only reads.
--
-- A record is `fence:since meta`, without the space: the fence; the server's clock in µs when the lock was granted; and the
-- meta of the handle, JSON or nothing. The numbers are left out where they are not known.
--
-- 1. The record of a handle in the list is in the hash KEYS.grants.
-- 2. That of a sole holder is in the value of the fence's key, which every grant writes anyway: the counter, NUL, the
--    handle, NUL, the record. `fence:since` is left out when both are the counter, as they mostly are.
-- 3. The record stays in that value after the release. It counts only while its handle holds the lock.
-- 4. A sole holder that others join is moved into the list. Its record follows with the next fence that is issued.
-- 5. A lock that is reserved for a waiter has no record before the waiter claims it.

-- Reads the value of the fence's key. Returns the handle of the record in it, and the record; nil when there is none.
local function read_record(value)
  if type(value) ~= 'string' then return end
  local counter, handle, record = string.match(value, '^(%d+)%z([^%z]*)%z(.*)$')
  if handle and not string.find(record, '^%d*:') then record = counter .. ':' .. counter .. record end
  return handle, record
end
