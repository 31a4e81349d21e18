-- renew: begins the lease of a holder anew, also with a shorter one.
--
-- 1. A fresh owner that is the sole holder: its lease is in the lock's own key. (no functions: see lib/take.lua) It
--    needs that key alone, which is renewed while a Cluster moves its slot.
-- 2. Without the other keys: lost.
-- 3. A holder in the list: its lease is there.
-- 4. A renewal with a lower number than the last one changes nothing: it comes late.
--
-- A server without memory refuses a script whose first write would take some: here it only moves the end of a key.
--
-- keys  lock queue? waiters? holders? grants?
-- args  handle lease_ms renewal?
--
--   renewal  the number of the renewal
--
-- reply  2  renewed, with a number, and the lease ends so much earlier that the queue should look again: see notify.lua
--        1  renewed, or a later renewal counts
--        0  lost
local handle, lease_ms, number = ARGV.handle, tonumber(ARGV.lease_ms), tonumber(ARGV.renewal or 0)
local value = redis.call('GET', KEYS.lock)
-- The sole holder stands in the lock's key, behind a kind and the number of its last renewal: see lib/holders.lua.
local kind, last, sole = string.match(value or '', '^(:[^#%s]+)#?(%d*) (.*)$')
if value == handle then kind, last, sole = ':exclusive', '', handle end
-- @place renew-sole
if sole == handle then
  if number < (tonumber(last) or 0) then return 1 end
  if number == 0 then return redis.call('PEXPIRE', KEYS.lock, lease_ms) end
  local left = redis.call('PTTL', KEYS.lock)
  redis.call('PEXPIRE', KEYS.lock, lease_ms)
  redis.call('SET', KEYS.lock, kind .. '#' .. ARGV.renewal .. ' ' .. handle, 'KEEPTTL')
  return lease_ms < math.min(left, $POLL_MS) and 2 or 1
end
if not KEYS.holders then return 0 end
local time = redis.call('TIME')
-- include holders expiry
if not is_holder(handle) then return 0 end
if number < -tonumber(redis.call('ZSCORE', KEYS.holders, '::' .. handle) or 0) then return 1 end
local left = redis.call('ZSCORE', KEYS.holders, handle) - now
redis.call('PEXPIRE', KEYS.holders, lease_ms)
redis.call('ZADD', KEYS.holders, now + lease_ms, handle)
set_expiry()
if number == 0 then return 1 end
redis.call('ZADD', KEYS.holders, -number, '::' .. handle)
return lease_ms < math.min(left, $POLL_MS) and 2 or 1
