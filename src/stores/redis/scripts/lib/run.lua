-- run: the waiters that may be granted the lock together. Only reads. Needs `time`, the server's, and waiters.

-- Returns the handles at the head of the queue that are of a group, at most $MAX_RUN, whether another one comes next,
-- and the metas of those handles. The first one that is not exclusive, not of the group or dead ends the run: nobody is
-- overtaken. Raises no error, because the lock is held by now: without an answer there is no run.
local function next_of_group(group)
  local run, metas, first = {}, {}, 0
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  while true do
    local heads = redis.pcall('ZRANGE', KEYS.queue, first, first + $QUEUE_WINDOW - 1)
    if #heads == 0 then return run, false, metas end
    local entries = redis.pcall('HMGET', KEYS.waiters, unpack(heads))
    for place, head in ipairs(heads) do
      local seen, _, _, theirs, kind, meta = parse_waiter(entries[place])
      -- @place run-member
      local member = theirs == group and kind == '' and now - seen < $WAITER_TIMEOUT_MS
      -- @place run-length
      if not member or #run == $MAX_RUN then return run, true, metas end
      table.insert(run, head)
      table.insert(metas, meta)
    end
    first = first + #heads
  end
end
