-- held_for: for how long a lock has been held, as far as that concerns the waiter whose turn is next. Needs holders,
-- waiters, queue, record_of.

-- Writes: removes dead waiters from the head of the queue. Returns nil when a living one is ahead of the handle, else
-- for how many ms the present holders have had the lock, of several those who were granted it last:
--
-- 1. as their records say;
-- 2. without a record 0, if it may be reserved for a waiter that has yet to claim it;
-- 3. else -1: nobody has it by these scripts, or long since.
local function held_for(handle)
  while true do
    local head = redis.call('ZRANGE', KEYS.queue, 0, 0)[1]
    if not head or head == handle then break end
    local seen = read_waiter(head)
    -- @place ahead-alive
    if seen and now - seen < $WAITER_TIMEOUT_MS then return end
    remove_waiter(head)
  end
  local value, newest = redis.pcall('GET', KEYS.fence), -1
  for _, other in ipairs(current_holders()) do
    newest = math.max(newest, since_in(record_of(other, value)) or -1)
  end
  -- @place held-since
  if newest >= 0 then return math.max(0, now - math.floor(newest / 1000)) end
  local left = redis.call('PTTL', KEYS.lock)
  return left >= 0 and left <= $RESERVATION_MS and 0 or -1
end
