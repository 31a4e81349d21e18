-- waiters: what is known of each waiter. Only reads.
--
-- The queue, the sorted set KEYS.queue, has each waiter's ticket: handle -> ticket. The hash KEYS.waiters has the rest:
-- handle -> when it last asked (ms of the server's clock), $PROVABLE or $UNPROVABLE, its channel, "@" and its cohort if it
-- has one, "@" (unless it stands there) and NUL and its meta if it has one, and the kind of lock that it waits for (empty:
-- exclusive). $PROVABLE: if nobody receives a message on the channel, its client is gone.
--
-- The kind begins with the first colon behind the channel. So the meta, which is JSON, has the character 1 for each colon:
-- JSON has no control characters.

-- Returns when it last asked, $PROVABLE or $UNPROVABLE, channel, cohort (empty: none), meta (empty: none), kind; nil when
-- there is no such waiter.
local function parse_waiter(text)
  return string.match(text or '', '^(%d+)(.)(holdfast:[^:@]+)@?([^:%z]*)%z?([^:]*)(.*)$')
end

local function read_waiter(handle)
  return parse_waiter(redis.call('HGET', KEYS.waiters, handle))
end
