-- attempt: grants the lock to a handle and issues its fence, or puts the handle into the queue.
--
-- 1. Reserved for this handle, or free and nobody waits: grant. See lib/take.lua.
-- 2. Else what lib/grant_or_enqueue.lua says, with the owners and kinds that share a lock.
-- 3. Granted: the fence is the server's clock in µs, or that of lib/issue_fence.lua if the last one is as high.
-- 4. It has a block of fences if it asks for several. If it waits with a group instead, the waiters of its group that
--    come next, its run, have the fences that follow. They leave the queue last of all, when nothing can fail.
--
-- After an error nothing is held.
--
-- keys  lock queue waiters holders grants fence
-- args  handle lease_ms meta? wakeup_address? group? ticket? kind? fences? other...
--
--   meta            what describes the handle, JSON
--   wakeup_address  how the waiter is reached: $PROVABLE or $UNPROVABLE, and its channel; empty: it does not wait
--   group           only of an exclusive claim of a fresh owner
--   ticket          its place in the queue, empty when it has none yet
--   kind            ":exclusive", ":steal", ":shared" or ":permits=N"; empty: exclusive, by a fresh owner
--   fences          how many fences it wants, more than 1, only without a kind; there is no run then
--   other           with ":steal": the SHA-1 of each handle from which the lock may be taken, see lib/revoke.lua;
--                   else the other waiters of its process, which are as alive as this one
--
-- reply  fence, a string                      granted all that it wants; with a group or a block: and nobody waits
--        { ":granted", fence, fences, 1 or 0, handle... }
--                                             granted so many fences; 1: others wait; its run, from fence + 1 on
--        { ms to the next attempt, ticket }   busy
--        { kind that is held, 1 or 0 }        a conflict; 1: the owner itself holds it
--        { ":steal", digest... }              not stolen: others hold the lock, with these digests
--        { ":fence", last }                   there is no higher fence than the last one
local handle, lease_ms, meta = ARGV.handle, ARGV.lease_ms, ARGV.meta or ''
local ticket, kind = ARGV.ticket or '', ARGV.kind or ''
-- include take

local owner, in_list, unsent
if not taken then
  -- include holders expiry grants waiters notify queue revoke fence_value grant_or_enqueue
  local address = ARGV.wakeup_address or ''
  local waiter = address ~= '' and { address = address, group = ARGV.group or '', ticket = ticket }
  -- No other argument is the SHA-1 of a handle.
  local reply = grant_or_enqueue(handle, kind, tonumber(lease_ms), meta, waiter, waiting, ARGV)
  if reply then
    if kind ~= ':steal' then keep_alive({ ARGV.other }) end
    return with_refusal(reply)
  end
  owner, in_list, unsent = owner_of(handle), stands_in_list(handle), refusal
end

-- How many fences it gets beside the first: for a block, or for the run.
local wish, contended, run, metas = (tonumber(ARGV.fences) or 1) - 1, false, nil, nil
local extra = wish > 0 and math.min(wish, $BLOCK_LEAD_US) or 0
if reserved or waiting > 0 then
  local group = ARGV.group or ''
  if wish > 0 then
    contended = #redis.pcall('ZRANGE', KEYS.queue, 0, 0) > 0
  elseif group ~= '' then
    -- include waiters run
    run, contended, metas = next_of_group(group)
    extra = #run
  end
end

local since = time[1] .. string.sub('00000' .. time[2], -6)
local fence, counter, ttl_ms, unseen = since, since, '$FENCE_TTL_MS', not in_list
if extra > 0 then
  -- @place block-end
  counter, ttl_ms = string.format('%.0f', since + extra), '$BLOCK_TTL_MS'
end
-- include set_fence
-- @place fence-compare
if in_list or number >= tonumber(since) then
  -- include fence_value note_grant issue_fence
  local reply
  fence, extra, reply = issue_fence(handle, owner, since, meta, in_list, last, number, extra)
  if reply then return reply end
end

-- @place contended
contended = contended or run and extra < #run
if extra == wish and not contended then return unsent and { ':unsent', unsent, fence } or fence end
if not run then return { ':granted', fence, extra + 1, contended and 1 or 0 } end
if extra > 0 then
  -- include members
  -- @place run-noted
  write_members(handle, metas, extra, lease_ms)
  redis.call('HDEL', KEYS.waiters, unpack(run, 1, extra))
  -- @place run-leaves
  redis.call('ZREM', KEYS.queue, unpack(run, 1, extra))
end
return { ':granted', fence, 1, contended and 1 or 0, unpack(run, 1, extra) }
