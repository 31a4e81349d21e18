-- revoke: takes the lock from those who hold it. Needs grants, notify.
--
-- A client may send such a command twice, and late, when others hold the lock who were never meant. So it names whom it
-- means, by the digests of their handles, which it was told before.

-- Returns the present holders that are meant by these digests, and the digests and the handles of the others.
local function split_holders(digests)
  local is_meant, meant, others, names = {}, {}, {}, {}
  for _, digest in ipairs(digests) do is_meant[digest] = true end
  for _, handle in ipairs(current_holders()) do
    local digest = redis.sha1hex(handle)
    if is_meant[digest] then
      table.insert(meant, handle)
    else
      table.insert(others, digest)
      table.insert(names, handle)
    end
  end
  return meant, others, names
end

-- Writes: takes the lock from these handles, and notifies all clients of each, as `meta LF handle` if there is a meta.
local function revoke(handles, others, meta)
  for _, handle in ipairs(handles) do
    notify('$REVOCATIONS', meta == '' and handle or meta .. '\n' .. handle)
  end
  if #others > 0 then
    remove_holders(handles)
    set_expiry()
  else
    redis.call('DEL', KEYS.lock, KEYS.holders, KEYS.grants)
    holder, sole = false, nil
  end
end
