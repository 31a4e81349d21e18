-- entries: lists the holders and the waiters of a lock. Only reads.
--
-- keys  lock queue waiters holders grants fence
-- args  none
--
-- reply  { { owner, handle, kind, ms to the end of its lease, record, ... of each holder },
--          { owner, handle, kind, ticket, meta, ... of each live waiter in the queue, in order },
--          { the same of each member of the holder's run that is not in the queue, in order } }
--        {}                 when the lock's key is of another type
--
-- A kind is ":shared" or ":permits=N", else exclusive. A lease without an end has negative ms. For the record see
-- lib/fence_value.lua. The ticket is the server's clock in µs when the waiter came.
if type(redis.pcall('GET', KEYS.lock)) == 'table' then return {} end
local time = redis.call('TIME')
-- include holders waiters fence_value record_of members
local in_list, fence_value = list_counts(), redis.pcall('GET', KEYS.fence)

local function owner_name(handle)
  local owner = owner_of(handle)
  return owner and string.sub(owner, 1, -2) or handle
end

-- What is known of a holder without a record: the fence of its owner.
local function fence_of_owner(handle)
  local owner = in_list and owner_of(handle)
  local fence = owner and redis.call('ZSCORE', KEYS.holders, owner) or ''
  return format_record(string.sub(fence, 2), '', '')
end

local function add(list, handle, kind, ticket, meta)
  for _, value in ipairs({ owner_name(handle), handle, kind, ticket, meta }) do table.insert(list, value) end
end

local holders, waiters, run, members = {}, {}, {}, {}
for _, handle in ipairs(current_holders()) do
  table.insert(holders, in_list and owner_name(handle) or handle)
  table.insert(holders, handle)
  table.insert(holders, sole and marker or allows_several(holder) and holder or in_list and own_kind(handle) or '')
  table.insert(holders, in_list and redis.call('ZSCORE', KEYS.holders, handle) - now or redis.call('PTTL', KEYS.lock))
  table.insert(holders, record_of(handle, fence_value) or fence_of_owner(handle))
  if not in_list then run = read_members(redis.pcall('GET', KEYS.grants), handle) end
end
local in_queue = {}
local queue = redis.call('ZRANGE', KEYS.queue, 0, -1, 'WITHSCORES')
for i = 1, #queue, 2 do
  local handle, ticket = queue[i], queue[i + 1]
  in_queue[handle] = true
  local seen, _, _, _, kind, meta = read_waiter(handle)
  if seen and now - seen < $WAITER_TIMEOUT_MS then
    add(waiters, handle, kind, ticket, meta)
  end
end
for _, member in ipairs(run) do
  local handle, ticket, meta = unpack(member)
  -- @place member-once
  if not in_queue[handle] then add(members, handle, '', ticket, meta) end
end
return { holders, waiters, members }
