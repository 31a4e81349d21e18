-- waiters: what is known of each waiter. Only reads.
--
-- The queue, the sorted set KEYS.queue, has each waiter's ticket: handle -> ticket. The hash KEYS.waiters has the rest
-- in one text: handle -> when it last asked (ms of the server's clock), $PROVABLE or $UNPROVABLE, its channel, "@", its
-- group, the kind of lock that it waits for, NUL, its meta. Group and meta may be empty, and so is the kind of an
-- exclusive lock. The kind begins with a colon, of which the group has none, and the meta, JSON, has no NUL. $PROVABLE:
-- if nobody receives a message on the channel, its client is gone.

local function format_waiter(asked, address, group, kind, meta)
  return asked .. address .. '@' .. group .. kind .. '\0' .. meta
end

local function asking_again(text, asked)
  return (string.gsub(text, '^%d+', asked))
end

-- Returns when it last asked, $PROVABLE or $UNPROVABLE, channel, group, kind, meta; nil when there is no such waiter.
local function parse_waiter(text)
  return string.match(text or '', '^(%d+)(.)(holdfast:[^:@]+)@([^:%z]*)([^%z]*)%z(.*)$')
end

local function read_waiter(handle)
  return parse_waiter(redis.call('HGET', KEYS.waiters, handle))
end
