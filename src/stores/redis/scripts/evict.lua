-- evict: takes the lock from those who hold it.
--
-- 1. To be sent without a digest first: then it tells who holds the lock, and serves the queue if nobody does.
-- 2. With digests: takes the lock from the holders that are meant, see lib/revoke.lua, and serves the queue.
--
-- keys  lock queue waiters holders grants
-- args  reservation_ms meta? digest...
--
--   reservation_ms  how long to keep the lock for the waiter whose turn it is
--   meta            what describes the caller, JSON
--   digest          the SHA-1 of each handle that is meant
--
-- reply  { how many holders were revoked, digest, handle, ... of each other one }
local time = redis.call('TIME')
-- include holders expiry grants waiters notify queue revoke
-- No other argument is the SHA-1 of a handle.
local meant, others, names = split_holders(ARGV)
if #meant > 0 or #others == 0 then
  revoke(meant, others, ARGV.meta)
  if not holder or allows_several(holder) then serve_queue(tonumber(ARGV.reservation_ms)) end
end
local reply = { #meant }
for i, digest in ipairs(others) do
  table.insert(reply, digest)
  table.insert(reply, names[i])
end
return with_refusal(reply)
