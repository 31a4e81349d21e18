-- evict: takes the lock from those who hold it.
--
-- 1. To be sent without a digest first: then it tells who holds the lock, and serves the queue if nobody does.
-- 2. With digests: takes the lock from the holders that are meant, see lib/revoke.lua, and serves the queue.
--
-- keys  lock queue waiters holders grants
-- args  reservation_ms digest...
--
--   reservation_ms  how long to keep the lock for the waiter whose turn it is
--   digest          the SHA-1 of each handle that is meant
--
-- reply  { how many holders were revoked, the digests of the others... }
local time = redis.call('TIME')
-- include holders
-- include expiry
-- include grants
-- include waiters
-- include notify
-- include queue
-- include revoke
local meant, others = split_holders(2)
if #meant > 0 or #others == 0 then
  revoke(meant, others)
  if not holder or allows_several(holder) then serve_queue(tonumber(ARGV.reservation_ms)) end
end
table.insert(others, 1, #meant)
return others
