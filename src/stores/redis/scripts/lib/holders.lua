-- holders: who holds the lock. Only reads. Needs `time`, the server's.
--
-- The lock's own key tells every program whether the lock is held. Its value is one of these:
--
--   handle              an exclusive lock of a fresh owner
--   owner/              an owner that gave its own name: the slash makes it nobody's handle
--   kind                several may hold it: ":shared" or ":permits=N"; no owner begins with a colon
--   kind handle         the same, as long as a fresh owner is the sole holder
--   kind#number handle  the same; the number is that of its last renewal. ":exclusive" if need be
--
-- With "owner/" and with a kind alone, the holders are in a list, the sorted set KEYS.holders:
--
--   handle -> when its lease ends, in ms of the server's clock. `owner/UUID` for an owner that gave its own name
--   owner/ -> its fence, negative, or 0 while it has none: all its handles have one fence
--   :handle -> beside a shared handle or a permit of an owner that holds the lock exclusively as well: 0 when it is
--              shared, or minus the number of permits
--   ::handle -> minus the number of its last renewal
--
-- Its last member is the handle whose lease ends last: both keys end with it. Whoever deletes the lock's key from
-- outside leaves the list behind: it counts only beside the lock's key, and the next grant deletes it first. What else
-- is known of the holders, for those who list them, says lib/fence_value.lua.
--
-- holder   the value of the lock's key as above, false when it is free. For ":exclusive#number handle": the handle
-- sole     the handle of the sole holder, when it stands behind a kind that several may hold
-- marker   the kind before that handle
-- renewal  the number of the sole holder's last renewal, "" when it has none
-- now      the server's clock in ms
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder = redis.call('GET', KEYS.lock)
local marker, renewal, sole = string.match(holder or '', '^(:[^#%s]+)#?(%d*) (.+)$')
if marker == ':exclusive' and renewal ~= '' then holder = sole end

-- Whether several may hold the lock when its key has this value.
local function allows_several(value)
  return value == ':shared' or string.match(value or '', '^:permits=%d+$')
end

if not allows_several(marker) then sole = nil end

-- The owner that gave its own name, with its slash; nil or false for a fresh one.
local function owner_of(handle)
  return string.find(handle, '/', 1, true) and string.match(handle, '^(.*/)[^/]+$')
end

-- Whether the list is where this handle stands if it holds the lock.
local function stands_in_list(handle)
  return allows_several(holder) or holder and holder == owner_of(handle)
end

-- Whether the list says who holds the lock.
local function list_counts()
  return allows_several(holder) or
    holder and string.sub(holder, -1) == '/' and redis.call('ZSCORE', KEYS.holders, holder)
end

local function is_holder(handle)
  if sole then return sole == handle end
  if not stands_in_list(handle) then return holder == handle end
  local ends = redis.call('ZSCORE', KEYS.holders, handle)
  return ends and tonumber(ends) > now
end

-- The handles whose leases have not ended.
local function current_holders()
  if sole then return { sole } end
  if not list_counts() then return { holder or nil } end
  return redis.call('ZRANGE', KEYS.holders, '(' .. now, '+inf', 'BYSCORE')
end

-- The kind of a handle in the list that is not what the lock's key says.
local function own_kind(handle)
  local mark = redis.call('ZSCORE', KEYS.holders, ':' .. handle)
  return mark and (tonumber(mark) == 0 and ':shared' or ':permits=' .. string.sub(mark, 2))
end
