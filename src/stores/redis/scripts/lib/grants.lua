-- grants: adds holders, and removes them. Needs holders, expiry. All functions write, but for `fits`.

-- Moves a sole holder into the list. To be called before the functions below, unless that holder has gone.
local function move_sole_holder_to_list()
  if not sole then return end
  -- Fails before the first write when the key is of another type.
  redis.call('ZCARD', KEYS.holders)
  local pttl = redis.call('PTTL', KEYS.lock) + 1
  local left = pttl < 1 and $PERSISTED_LEASE_MS or pttl
  redis.call('SET', KEYS.lock, marker, 'PX', left)
  redis.call('DEL', KEYS.holders, KEYS.grants)
  redis.call('ZADD', KEYS.holders, now + left, sole)
  if renewal ~= '' then redis.call('ZADD', KEYS.holders, '-' .. renewal, '::' .. sole) end
  redis.call('PEXPIRE', KEYS.holders, left)
  holder, sole = marker, nil
end

-- Makes a lock that was exclusive what its owner's other handles are, once these are all of one kind.
local function set_common_kind()
  local marks, kind = {}, nil
  for _, handle in ipairs(redis.call('ZRANGE', KEYS.holders, '(0', '+inf', 'BYSCORE')) do
    local own = own_kind(handle)
    if not own or kind and kind ~= own then return end
    kind = own
    table.insert(marks, ':' .. handle)
  end
  if not kind then return end
  for _, mark in ipairs(marks) do redis.call('ZREM', KEYS.holders, mark) end
  redis.call('SET', KEYS.lock, kind, 'KEEPTTL')
  holder = kind
end

-- Removes handles from the list, with their records, and an owner's fence with its last handle. Returns their number.
local function remove_holders(handles)
  local removed, owners = 0, {}
  for _, handle in ipairs(handles) do
    removed = removed + redis.call('ZREM', KEYS.holders, handle)
    redis.call('ZREM', KEYS.holders, ':' .. handle, '::' .. handle)
    -- A record that is left ends with the key, and belongs to no holder.
    redis.pcall('HDEL', KEYS.grants, handle)
    local owner = owner_of(handle)
    if owner then owners[owner] = true end
  end
  if next(owners) then
    for _, other in ipairs(redis.call('ZRANGE', KEYS.holders, 0, -1)) do owners[owner_of(other) or ''] = nil end
    for owner in pairs(owners) do redis.call('ZREM', KEYS.holders, owner) end
    if removed > 0 and not allows_several(holder) then set_common_kind() end
  end
  return removed
end

local function remove_expired_holders()
  remove_holders(redis.call('ZRANGE', KEYS.holders, '(0', now, 'BYSCORE'))
  if allows_several(holder) and redis.call('ZCARD', KEYS.holders) == 0 then
    -- Records are left when another program has deleted the list.
    redis.call('DEL', KEYS.grants)
    holder = false
  end
end

-- Whether one more handle of a kind (empty: exclusive) can be granted. An owner that holds the lock counts once.
local function fits(kind, owner)
  if not holder then return true end
  local own = owner and (holder == owner or holder == kind)
  if own and redis.call('ZSCORE', KEYS.holders, owner) then return true end
  if kind == '' or kind ~= holder then return false end
  local permits = tonumber(string.match(kind, '%d+'))
  if not permits or redis.call('ZCARD', KEYS.holders) < permits then return true end
  local holders = 0
  for _, member in ipairs(redis.call('ZRANGE', KEYS.holders, 0, -1)) do
    if not owner_of(member) and string.sub(member, 1, 1) ~= ':' then holders = holders + 1 end
  end
  return holders < permits
end

-- Grants the lock to a handle for so many ms, or makes its lease longer. Unless the lock is held, the first write is
-- the one that a server without memory refuses.
local function grant(handle, kind, ms)
  local owner = owner_of(handle)
  if kind == '' and not owner then
    if holder == handle then
      redis.call('PEXPIRE', KEYS.lock, ms)
    else
      redis.call('SET', KEYS.lock, handle, 'PX', ms)
    end
    holder = handle
    return
  end
  if not holder then
    holder = kind == '' and owner or kind
    redis.call('SET', KEYS.lock, holder, 'PX', ms)
    redis.call('DEL', KEYS.holders, KEYS.grants)
  end
  -- @place holder-lease
  redis.call('ZADD', KEYS.holders, 'GT', now + ms, handle)
  if owner then redis.call('ZADD', KEYS.holders, 'NX', 0, owner) end
  if owner == holder and kind ~= '' then
    redis.call('ZADD', KEYS.holders, '-' .. (string.match(kind, '%d+') or 0), ':' .. handle)
  end
  set_expiry()
end
