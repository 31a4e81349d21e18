-- attempt: grants the lock to a handle and issues its fence, or puts the handle into the queue.
--
-- 1. Reserved for this handle: grant.
-- 2. Free, and nobody waits: grant.
-- 3. Else what lib/grant_or_enqueue.lua says, with the owners and kinds that share a lock.
-- 4. Granted: the owner's fence if it has one already. Else the fence is max(last + 1, server's clock in µs), a hybrid
--    logical clock (Kulkarni et al. 2014), which still rises after its key was lost.
-- 5. An exclusive lock of a fresh owner has a block of fences, when it asks for several. The counter is left at the end
--    of the block, which is at most $BLOCK_LEAD_US µs ahead of the clock, unless the first fence is.
-- 6. If it waits with a cohort instead: the waiters of its cohort that come next leave the queue, and have the fences
--    that follow, under the same rule. They leave it last of all, when nothing can fail any more, and are noted for those
--    who list the lock: see lib/members.lua.
-- 7. What a listing shows of the holder is noted: for a sole holder with the counter, in one write; see lib/fence_value.lua.
--
-- Most owners are fresh and most locks are free. Steps 1 and 2 therefore come first, and without any function: in Lua a
-- function that is defined costs time even if it is not called. vote.lua has the same lines.
--
-- A number of 16 digits does not survive Lua's tostring: the parts of the clock are joined as strings, other fences are
-- formatted.
--
-- After an error nothing is held. The fence is the only thing that can fail once the lock is set, and then the lock is
-- deleted.
--
-- keys  lock queue waiters holders grants fence
-- args  handle lease_ms meta? wakeup_address? ticket? kind? fences? other...
--
--   meta            what describes the handle, JSON; empty: nothing
--   wakeup_address  how the waiter is reached: $PROVABLE or $UNPROVABLE, its channel, and "@" and its cohort if it has one,
--                   which only an exclusive claim of a fresh owner may have; empty: it does not wait
--   ticket          its place in the queue, empty when it has none yet
--   kind            ":exclusive", ":steal", ":shared" or ":permits=N"; empty: exclusive, by a fresh owner
--   fences          how many fences it wants, more than 1; counts only without a kind, and then there is no run
--   other           with ":steal": the SHA-1 of each handle from which the lock may be taken, see lib/revoke.lua;
--                   else the other waiters of its process, which are as alive as this one
--
-- reply  fence, a string                        granted, with all the fences that it wants; nobody waits, or it wants no
--                                               more than one and has no cohort
--        { ":granted", fence, fences, 1 or 0, handle... }
--                                               granted, with so many fences; 1: others wait; the handles that left the
--                                               queue, of which the first has the fence + 1
--        { ms to the next attempt, ticket }     busy
--        { kind that is held, 1 or 0 }          a conflict; 1: the owner itself holds it
--        { ":steal", digest... }                not stolen: others hold the lock, with these digests
--        { ":fence", last }                     there is no higher fence than the last one
local lock, handle, ticket, kind = KEYS.lock, ARGV.handle, ARGV.ticket or '', ARGV.kind or ''
-- What a sole holder has in the lock's key; false when only the list of holders can say it.
local value = handle
if kind ~= '' then
  local listed = string.find(handle, '/', 1, true) or kind == ':exclusive' or kind == ':steal'
  value = not listed and kind .. ' ' .. handle
end
local time = redis.call('TIME')
local reserved = value and ticket ~= '' and redis.call('GET', lock) == value
local waiting = reserved and 0 or redis.call('ZCARD', KEYS.queue)
-- Whether the handle is in the list of holders.
local in_list
local owner

if reserved then
  -- @place reserved-lease
  redis.call('SET', lock, value, 'PX', math.max(ARGV.lease_ms, redis.call('PTTL', lock)))
elseif not value or waiting > 0 or not redis.call('SET', lock, value, 'NX', 'PX', ARGV.lease_ms) then
  -- include holders
  -- include expiry
  -- include grants
  -- include waiters
  -- include notify
  -- include queue
  -- include revoke
  -- include fence_value
  -- include grant_or_enqueue
  owner = owner_of(handle)
  local reply = grant_or_enqueue(handle, owner, kind, ticket, waiting)
  if reply then
    local others = { unpack(ARGV, 8) }
    if kind ~= ':steal' and #others > 0 then
      local alive = {}
      for place, entry in ipairs(redis.call('HMGET', KEYS.waiters, unpack(others))) do
        if entry then
          table.insert(alive, others[place])
          -- @place others-alive
          entry = string.gsub(entry, '^%d+', now)
          table.insert(alive, entry)
        end
      end
      if #alive > 0 then redis.call('HSET', KEYS.waiters, unpack(alive)) end
    end
    return reply
  end
  in_list = stands_in_list(handle)
end

-- A block of fences, or a run of the waiters of its cohort that come next.
local wish, extra, contended, run, metas = 0, 0, false, nil, nil
if kind == '' then
  local block = tonumber(ARGV.fences)
  if block then wish, extra = block - 1, math.min(block - 1, $BLOCK_LEAD_US) end
  if reserved or waiting > 0 then
    local cohort = string.match(ARGV.wakeup_address or '', '@(.+)$')
    if block then
      contended = #redis.pcall('ZRANGE', KEYS.queue, 0, 0) > 0
    elseif cohort then
      -- include waiters
      -- include run
      run, contended, metas = next_of_cohort(cohort)
      extra = #run
    end
  end
end

-- The fence of a sole holder is written before the last one is known: mostly that is lower.
local since, meta, last = time[1] .. string.sub('00000' .. time[2], -6), ARGV.meta or '', nil
if in_list then
  last = redis.call('GET', KEYS.fence)
else
  local counter, record, ttl_ms = since, meta, '$FENCE_TTL_MS'
  if extra > 0 then
    -- @place block-end
    counter, ttl_ms = string.format('%.0f', since + extra), '$BLOCK_TTL_MS'
    -- @place block-record
    record = since .. ':' .. since .. meta
  end
  last = redis.pcall('SET', KEYS.fence, counter .. '\0' .. handle .. '\0' .. record, 'PX', ttl_ms, 'GET')
  if type(last) == 'table' then
    redis.call('DEL', lock)
    return last
  end
end
-- The counter ends at a NUL, as tonumber() does in Lua 5.1; a pattern would take longer.
local fence, number = since, tonumber(last or 0) or tonumber(string.match(last, '^[^%z]*')) or 0
-- @place fence-compare
if in_list or number >= tonumber(since) then
  -- include fence_value
  -- include note_grant
  local known = owner and -redis.call('ZSCORE', KEYS.holders, owner) or 0
  if known > 0 then
    fence = string.format('%.0f', known)
    write_record(handle, format_record(fence, since, meta))
    return fence
  end
  local counter, text = counter_in(last)
  if counter >= $MAX_FENCE then
    write_fence(last)
    redis.call('DEL', lock)
    return { ':fence', text }
  end
  local clock = tonumber(since)
  local first = math.max(clock, counter + 1)
  -- @place block-lead
  local highest = math.max(first, math.min(clock + $BLOCK_LEAD_US, $MAX_FENCE))
  extra = math.min(extra, highest - first)
  fence = string.format('%.0f', first)
  if owner then redis.call('ZADD', KEYS.holders, '-' .. fence, owner) end
  -- @place block-end-ahead
  counter = string.format('%.0f', first + extra)
  note_grant(handle, in_list, counter, format_record(fence, since, meta), last)
end

-- @place contended
contended = contended or run and extra < #run
if extra == wish and not contended then return fence end
if not run then return { ':granted', fence, extra + 1, contended and 1 or 0 } end
if extra > 0 then
  -- include members
  -- @place run-noted
  write_members(handle, metas, extra, ARGV.lease_ms)
  redis.call('HDEL', KEYS.waiters, unpack(run, 1, extra))
  -- @place run-leaves
  redis.call('ZREM', KEYS.queue, unpack(run, 1, extra))
end
return { ':granted', fence, 1, contended and 1 or 0, unpack(run, 1, extra) }
