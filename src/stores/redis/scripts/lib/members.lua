-- members: the run of the holder, that is the handles that left the queue when it was granted the lock, for those who
-- list locks.
--
-- Only a sole exclusive holder has a run, and needs KEYS.grants for nothing else. There it is a string of three parts
-- with the character 2 between them: the handle of the holder; handle, NUL and ticket of each member; the meta of each
-- member. NUL stands between the members. None of this has these characters.
--
-- 1. It counts only while that handle is the sole holder.
-- 2. Nobody strikes a member that was served, has given up or waits in the queue again.
-- 3. It ends when the lock is revoked, when a sole holder releases it and nobody waits, with what KEYS.grants has next,
--    or with the lease of the holder: prolong.lua follows each renewal.

-- Writes: notes the first `count` waiters of the queue, with their metas, as the members of the run of a handle, for so
-- many ms. Raises no error: the lock is held by now.
local function write_members(handle, metas, count, ms)
  local queue = redis.pcall('ZRANGE', KEYS.queue, 0, count - 1, 'WITHSCORES')
  local record = handle .. '\2' .. table.concat(queue, '\0') .. '\2' .. table.concat(metas, '\0', 1, count)
  -- @place members-ttl
  redis.pcall('SET', KEYS.grants, record, 'PX', ms)
end

-- Reads the value of KEYS.grants. Returns handle, ticket and meta of each member of the run of a handle.
local function read_members(value, handle)
  local members = {}
  local of, queue, metas = string.match(type(value) == 'string' and value or '', '^([^\2]*)\2([^\2]*)\2(.*)$')
  -- @place members-holder
  if of ~= handle then return members end
  local next_meta = string.gmatch(metas .. '\0', '([^%z]*)%z')
  for member, ticket in string.gmatch(queue .. '\0', '([^%z]*)%z([^%z]*)%z') do
    table.insert(members, { member, ticket, next_meta() })
  end
  return members
end
