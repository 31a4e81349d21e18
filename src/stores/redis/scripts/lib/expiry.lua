-- expiry: when the keys of a lock with a list of holders end. Needs holders.

-- Writes: the lock, its list and the records in it end with the lease that ends last; deletes them when all have ended.
local function set_expiry()
  local last = redis.call('ZRANGE', KEYS.holders, -1, -1, 'WITHSCORES')[2]
  if last and last - now > 0 then
    redis.call('PEXPIRE', KEYS.lock, last - now)
    redis.call('PEXPIRE', KEYS.holders, last - now)
    redis.call('PEXPIRE', KEYS.grants, last - now)
  else
    redis.call('DEL', KEYS.lock, KEYS.holders, KEYS.grants)
    holder = false
  end
end
