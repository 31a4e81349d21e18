/**
 * Who holds a lock. KEYS: lock, queue, waiters, holders. Needs `time`, the server's.
 *
 * The lock's own key tells whether it is held, to every program: its value is the hold of an exclusive owner, or the
 * owner's own name and a slash, so that it is nobody's hold, or a marker when several may hold it, `:shared` or
 * `:permits=N`; no owner begins with a colon. As long as that is a fresh owner alone, its hold stands behind the marker
 * and a space. Else those whose place the marker takes, and the holds of an owner that
 * gave its own name, are in the list of holders: hold → when it ends, in ms of the server's clock.
 * Beside the holds of such an owner stands `owner/` → its fence, negative, or 0 while it has none: all its holds have
 * one fence. A hold is named `owner/UUID` then; a fresh owner has no slash. So the first of the list is a named owner's
 * if there is any, and the last is the hold that ends last; with that both keys end.
 *
 * Whoever deletes the lock's key from outside leaves the list behind: it counts only while the lock's key goes with it,
 * and the next to use it deletes it first.
 */
export const HOLDS = `
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder = redis.call('GET', KEYS[1])
local marker, alone = string.match(holder or '', '^(:%S+) (.+)$')

local function plural(value)
  return value == ':shared' or string.match(value or '', '^:permits=%d+$')
end

if not plural(marker) then alone = nil end

local function several()
  return plural(holder)
end

local function named(hold)
  return string.find(hold, '/', 1, true) and string.match(hold, '^(.*/)[^/]+$')
end

local function listed(hold)
  return several() or holder and holder == named(hold)
end

local function holds(hold)
  if alone then return alone == hold end
  if not listed(hold) then return holder == hold end
  local ends = redis.call('ZSCORE', KEYS[4], hold)
  return ends and tonumber(ends) > now
end

local function settle()
  local last = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2]
  if last and last - now > 0 then
    redis.call('PEXPIRE', KEYS[1], last - now)
    redis.call('PEXPIRE', KEYS[4], last - now)
  else
    redis.call('DEL', KEYS[1], KEYS[4])
    holder = false
  end
end
`;

/**
 * Takes holds and gives them up. After HOLDS; first of all puts who was alone into the list.
 *
 * `drop` takes an owner's fence with its last hold. `purge` drops what has ended. `fits` says whether one more hold of
 * a kind (empty: exclusive) can be granted; an owner that holds the lock already counts once. `take` grants it for so
 * many ms, or prolongs it; its first write is the one that a server without memory refuses.
 */
export const CHANGES = `
if alone then
  redis.call('ZCARD', KEYS[4])
  local left = redis.call('PTTL', KEYS[1]) + 1
  if left < 1 then left = 604800000 end
  redis.call('SET', KEYS[1], marker, 'PX', left)
  redis.call('DEL', KEYS[4])
  redis.call('ZADD', KEYS[4], now + left, alone)
  redis.call('PEXPIRE', KEYS[4], left)
  holder, alone = marker, nil
end

local function drop(list)
  local dropped, owners = 0, {}
  for _, hold in ipairs(list) do
    dropped = dropped + redis.call('ZREM', KEYS[4], hold)
    local owner = named(hold)
    if owner then owners[owner] = true end
  end
  if next(owners) then
    for _, other in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do owners[named(other) or ''] = nil end
    for owner in pairs(owners) do redis.call('ZREM', KEYS[4], owner) end
  end
  return dropped
end

local function purge()
  drop(redis.call('ZRANGE', KEYS[4], '(0', now, 'BYSCORE'))
  if several() and redis.call('ZCARD', KEYS[4]) == 0 then holder = false end
end

local function fits(kind, owner)
  if not holder then return true end
  local own = owner and (holder == owner or holder == kind)
  if own and redis.call('ZSCORE', KEYS[4], owner) then return true end
  if kind == '' or kind ~= holder then return false end
  local permits = tonumber(string.match(kind, '%d+'))
  if not permits or redis.call('ZCARD', KEYS[4]) < permits then return true end
  if named(redis.call('ZRANGE', KEYS[4], 0, 0)[1] .. '-') == nil then return false end
  local owners = 0
  for _, member in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do
    if not named(member) then owners = owners + 1 end
  end
  return owners < permits
end

local function take(hold, kind, ms)
  local owner = named(hold)
  if kind == '' and not owner then
    redis.call('SET', KEYS[1], hold, 'PX', ms)
    holder = hold
    return
  end
  if not holder then
    holder = kind == '' and owner or kind
    redis.call('SET', KEYS[1], holder, 'PX', ms)
    redis.call('DEL', KEYS[4])
  end
  redis.call('ZADD', KEYS[4], 'GT', now + ms, hold)
  if owner then redis.call('ZADD', KEYS[4], 'NX', 0, owner) end
  settle()
end
`;
