-- members: the run of the holder, that is the handles that left the queue when it was granted the lock. Only those who list
-- locks need it.
--
-- A run is that of a sole exclusive holder, for which KEYS.grants is not needed. There it is a string: the handle of the
-- holder; then of each member NUL, its handle, NUL, its ticket, NUL and its meta as in lib/waiters.lua.
--
-- 1. It counts only while that handle is the sole holder.
-- 2. Nobody strikes a member that was served, has given up or waits in the queue again.
-- 3. It is deleted when the lock is revoked, and when a sole holder releases it and nobody waits. It is replaced by what
--    KEYS.grants has next. $MEMBERS_TTL_MS is for those that died: the holder does not need this key to renew.

-- Writes: notes the first `count` waiters of the queue as the members of the run of a handle, with the metas of the
-- waiters. Raises no error: the lock is held by now.
local function write_members(handle, metas, count)
  local record = { handle }
  local queue = redis.pcall('ZRANGE', KEYS.queue, 0, count - 1, 'WITHSCORES')
  for i = 1, count do
    table.insert(record, queue[2 * i - 1])
    table.insert(record, queue[2 * i])
    table.insert(record, metas[i])
  end
  -- @place members-ttl
  redis.pcall('SET', KEYS.grants, table.concat(record, '\0'), 'PX', '$MEMBERS_TTL_MS')
end

-- Reads the value of KEYS.grants. Returns handle, ticket and meta of each member of the run of a handle.
local function read_members(value, handle)
  local members = {}
  local of, rest = string.match(type(value) == 'string' and value or '', '^([^%z]*)(.*)$')
  -- @place members-holder
  if of ~= handle then return members end
  for member, ticket, meta in string.gmatch(rest, '%z([^%z]*)%z([^%z]*)%z([^%z]*)') do
    table.insert(members, { member, ticket, meta })
  end
  return members
end
