-- release: ends what a handle has of a lock: the lock itself, its reservation, or its place in the queue.
--
-- 1. The sole holder, and nobody waits: delete the lock, and the members of its run. (no functions: see lib/take.lua)
-- 2. A holder: its lock ends, and the whole lock with the last holder.
-- 3. Else: remove the waiter.
-- 4. Serve the queue: those behind may not have to wait any more, or not for as long.
--
-- A server without memory refuses no release: the first write takes none.
--
-- keys  lock queue waiters holders grants
-- args  handle lease_ms
--
--   lease_ms  of whoever releases: a reservation is no longer than that
--
-- reply  1 if there was anything to release, else 0
local handle = ARGV.handle
local value = redis.call('GET', KEYS.lock)
if value == handle or value and string.match(value, '^:%S+ (.*)$') == handle then
  if redis.call('ZCARD', KEYS.queue) == 0 then
    -- @place members-end
    redis.call('DEL', KEYS.lock, KEYS.grants)
    return 1
  end
end
local time = redis.call('TIME')
-- include holders expiry grants waiters notify queue
local released, earlier = 1, false
if list_counts() then remove_expired_holders() end
if holder == handle or sole == handle then
  holder, sole = false, nil
elseif stands_in_list(handle) and remove_holders({ handle }) == 1 then
  local left = redis.call('PTTL', KEYS.lock)
  set_expiry()
  earlier = holder and redis.call('PTTL', KEYS.lock) < math.min(left, $POLL_MS)
else
  released = remove_waiter(handle)
end
if released == 1 then
  move_sole_holder_to_list()
  if not holder or allows_several(holder) then
    serve_queue(tonumber(ARGV.lease_ms))
    if not holder then redis.call('DEL', KEYS.lock, KEYS.grants) end
  end
  if earlier then notify_head() end
end
return with_refusal(released)
