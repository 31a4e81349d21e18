-- held: tells whether a handle holds the lock. Only reads.
--
-- keys  lock queue waiters holders
-- args  handle
--
-- reply  1 if it does, else 0
local time = redis.call('TIME')
-- include holders
return is_holder(ARGV.handle) and 1 or 0
