-- grant_or_enqueue: what attempt and vote do when the lock is not simply free. Needs all that they include before it.

-- The server's clock in µs, but later than every ticket in the queue, in case the clock was set back.
local function new_ticket()
  local ticket = time[1] * 1000000 + time[2]
  local last = tonumber(redis.call('ZRANGE', KEYS.queue, -1, -1, 'WITHSCORES')[2])
  -- @place ticket-order
  if last and last >= ticket then ticket = last + 1 end
  return ticket
end

-- Writes: puts a waiter into the queue, or notes that it has asked again. A waiter that was removed returns with its
-- ticket. Returns how many waiters that adds.
local function write_waiter(handle, kind, meta, waiter)
  local ticket = waiter.ticket == '' and new_ticket() or waiter.ticket
  redis.call('HSET', KEYS.waiters, handle, format_waiter(now, waiter.address, waiter.group, kind, meta))
  local added = redis.call('ZADD', KEYS.queue, 'NX', ticket, handle)
  redis.call('PEXPIRE', KEYS.queue, '$WAITER_TIMEOUT_MS')
  redis.call('PEXPIRE', KEYS.waiters, '$WAITER_TIMEOUT_MS')
  return added
end

-- Writes: notes that these waiters, if they are still in the queue, are alive.
local function keep_alive(handles)
  if #handles == 0 then return end
  local alive = {}
  for place, text in ipairs(redis.call('HMGET', KEYS.waiters, unpack(handles))) do
    if text then
      table.insert(alive, handles[place])
      -- @place others-alive
      text = asking_again(text, now)
      table.insert(alive, text)
    end
  end
  if #alive > 0 then redis.call('HSET', KEYS.waiters, unpack(alive)) end
end

-- The number of permits in a kind; nil or false in another.
local function permits(value)
  return allows_several(value) and string.match(value, '%d+')
end

-- The reply to a busy waiter: when to ask again, and its ticket. A lock with permits, or that an owner has through
-- several handles, is worth asking for when its first lease ends, any other when the last one does. Waiters ask
-- $RANK_STEP_MS apart, so that the head of the queue comes first. A holder without a record is another program, which
-- notifies nobody when it releases: there the head asks every $FOREIGN_POLL_MS.
local function busy_reply(handle, waiting)
  local left = redis.call('PTTL', KEYS.lock)
  if permits(holder) or not allows_several(holder) and list_counts() then
    left = redis.call('ZRANGE', KEYS.holders, '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2] - now
  end
  local rank = redis.call('ZRANK', KEYS.queue, handle) or waiting
  if left < 0 then left = $POLL_MS end
  local foreign = rank == 0 and not list_counts() and record_in(redis.pcall('GET', KEYS.fence)) ~= holder
  local longest_ms = foreign and $FOREIGN_POLL_MS or $POLL_MS
  local retry_after_ms = math.min(left + 1 + rank * $RANK_STEP_MS, longest_ms)
  return { retry_after_ms, redis.call('ZSCORE', KEYS.queue, handle) or '' }
end

-- Notifies the other handles of an owner that has just got the lock: they need not wait any more.
local function notify_owner(owner)
  for _, other in ipairs(redis.call('ZRANGE', KEYS.queue, 0, -1)) do
    local _, _, channel = read_waiter(other)
    if channel and owner_of(other) == owner then notify(channel, '$TURN' .. other) end
  end
end

-- Writes: grants the lock for so many ms, or puts the handle into the queue. Returns nil when granted, else the reply.
-- `waiter` is how the handle waits, nil when it does not. `waiting` handles wait already. It may steal the lock from
-- the handles with these digests.
--
-- 1. Several may hold the lock and no fence is left: refuse. After an error nothing may be held: what can fail is done
--    before the first write.
-- 2. The handle holds the lock (it was reserved, or the reply to an earlier attempt was lost): grant. The lease that it
--    has is never made shorter.
-- 3. Its owner holds the lock: grant, past the queue. A conflict if the owner would wait for itself.
-- 4. It steals: grant, unless others hold the lock than those whose digests it sent.
-- 5. Nobody waits and it fits beside the holders: grant.
-- 6. It comes to a lock with other permits: a conflict. Shared and exclusive are none: they wait for each other. A
--    handle that waits already came when things were otherwise.
-- 7. Else put it into the queue, if it waits, and serve the queue.
local function grant_or_enqueue(handle, kind, ms, meta, waiter, waiting, digests)
  local owner, steal = owner_of(handle), kind == ':steal'
  if kind ~= '' then
    local value = redis.call('GET', KEYS.fence)
    if counter_in(value) >= $MAX_FENCE then return exhausted(value) end
  end
  if not steal then move_sole_holder_to_list() end
  -- ZCARD fails before the first write when the key is of another type.
  if list_counts() then remove_expired_holders() elseif kind ~= '' then redis.call('ZCARD', KEYS.holders) end
  if steal or kind == ':exclusive' then kind = '' end

  if is_holder(handle) then
    if holder == handle then ms = math.max(ms, redis.call('PTTL', KEYS.lock)) end
    grant(handle, kind, ms)
  elseif owner and stands_in_list(handle) and redis.call('ZSCORE', KEYS.holders, owner) then
    if not fits(kind, owner) then return { holder, 1 } end
    remove_waiter(handle)
    grant(handle, kind, ms)
  elseif steal then
    local meant, others = split_holders(digests)
    if #others > 0 then
      table.insert(others, 1, ':steal')
      return others
    end
    revoke(meant, others, meta)
    remove_waiter(handle)
    grant(handle, kind, ms)
    if waiting > 0 and ms < $POLL_MS then notify_head() end
  elseif waiting == 0 and fits(kind, owner) then
    grant(handle, kind, ms)
  else
    if holder and not (waiter and waiter.ticket ~= '') and permits(holder) ~= permits(kind) then
      if not redis.call('ZSCORE', KEYS.queue, handle) then
        return { allows_several(holder) and holder or ':exclusive', 0 }
      end
    end
    if waiter then waiting = waiting + write_waiter(handle, kind, meta, waiter) end
    local open = not holder or allows_several(holder)
    if not (open and serve_queue(ms, handle)) then
      if not open or redis.call('ZCARD', KEYS.queue) > 0 or not fits(kind, owner) then
        return busy_reply(handle, waiting)
      end
      grant(handle, kind, ms)
    end
  end
  if owner and waiting > 0 and tonumber(redis.call('ZSCORE', KEYS.holders, owner)) == 0 then notify_owner(owner) end
end
