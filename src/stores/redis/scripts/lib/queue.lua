-- queue: grants the lock to those who wait. Needs grants, waiters, notify. `remove_waiter` and `serve_queue` write.

local function remove_waiter(handle)
  redis.call('HDEL', KEYS.waiters, handle)
  return redis.call('ZREM', KEYS.queue, handle)
end

-- Notifies the first of these waiters, which does not fit beside the holders: it looks again in case a reservation is
-- never claimed, and learns when the lease ends. Also the first one behind it of another client than that of the waiter
-- served last: a client that vanishes takes all its waiters along.
local function notify_next(handles, entries, first, served, me)
  for i = first, #handles do
    local _, _, channel = parse_waiter(entries[i])
    if channel and handles[i] ~= me and (i == first or channel ~= served) then
      -- @place wake-next
      notify(channel, '$NEXT' .. handles[i])
    end
    if channel ~= served then return end
  end
end

-- Serves the queue, for `ms` of lease. `me` is the handle that asks, if it waits: it gets the lock itself, without a
-- message. Returns whether it did.
--
-- 1. The head of the queue fits beside the holders: remove it from the queue, reserve the lock for it, notify it.
--    Shared waiters in a row are served together. A process that slept through the message must not believe in a lease:
--    so the lock is only reserved.
-- 2. It is dead: remove it. It comes back with its old ticket should it live after all. A waiter is dead when it has
--    not asked for $WAITER_TIMEOUT_MS, or when nobody receives its messages and that is a proof. A message that the
--    server refuses to send proves nothing.
-- 3. It does not fit: stop, and notify who comes next if others were served.
local function serve_queue(ms, me)
  local granted, served = false, false
  while true do
    local heads = redis.call('ZRANGE', KEYS.queue, 0, $QUEUE_WINDOW)
    if #heads == 0 then return granted end
    local entries = redis.call('HMGET', KEYS.waiters, unpack(heads))
    for place, head in ipairs(heads) do
      local seen, reachability, channel, _, kind = parse_waiter(entries[place])
      -- @place waiter-alive
      local alive = seen and now - seen < $WAITER_TIMEOUT_MS
      if alive and not fits(kind, owner_of(head)) then
        if served and place > 2 then
          -- Most of those that were read have left the queue.
          local rest = redis.call('ZRANGE', KEYS.queue, 0, $QUEUE_WINDOW - 1)
          notify_next(rest, redis.call('HMGET', KEYS.waiters, unpack(rest)), 1, served, me)
        elseif served then
          notify_next(heads, entries, place, served, me)
        end
        return granted
      end
      remove_waiter(head)
      if head == me then
        grant(head, kind, ms)
        granted, served = true, channel
      elseif alive and (notify(channel, '$TURN' .. head) ~= 0 or reachability == '$UNPROVABLE') then
        -- @place reservation
        grant(head, kind, math.min(math.max(ms, $MIN_RESERVATION_MS), $RESERVATION_MS))
        served = channel
      end
    end
  end
end
