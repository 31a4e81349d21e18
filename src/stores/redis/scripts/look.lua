-- look: lists the holders and the waiters of a lock. Only reads.
--
-- keys  lock queue waiters holders
-- args  none
--
-- reply  { { owner, kind, ... of each holder }, { owner, kind, ... of each live waiter, in order } }
--        {}                 when the lock's key is of another type
--
-- A kind is ":shared" or ":permits=N"; anything else: exclusive.
if type(redis.pcall('GET', KEYS.lock)) == 'table' then return {} end
local time = redis.call('TIME')
-- include holders
-- include waiters
local function owner_name(handle)
  local owner = owner_of(handle)
  return owner and string.sub(owner, 1, -2) or handle
end
local holders, waiters, in_list = {}, {}, list_counts()
for _, handle in ipairs(current_holders()) do
  table.insert(holders, in_list and owner_name(handle) or handle)
  table.insert(holders, sole and marker or allows_several(holder) and holder or in_list and own_kind(handle) or '')
end
for _, handle in ipairs(redis.call('ZRANGE', KEYS.queue, 0, -1)) do
  local seen, _, _, _, kind = read_waiter(handle)
  if seen and now - seen < $WAITER_TIMEOUT_MS then
    table.insert(waiters, owner_name(handle))
    table.insert(waiters, kind)
  end
end
return { holders, waiters }
