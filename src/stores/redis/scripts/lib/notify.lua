-- notify: wake-ups. Needs waiters. Writes no key.

-- Why the server refused to send a message; nil if it sent all of them.
local refusal

-- Publishes a message. Returns how many clients received it, or false when the server refuses to send it: the user may
-- lack the right to the channel. Raises no error, because the queue has been changed by then, and a waiter that is not
-- notified asks again by itself.
local function notify(channel, message)
  local receivers = redis.pcall('PUBLISH', channel, message)
  if type(receivers) == 'number' then return receivers end
  refusal = receivers.err
  return false
end

-- Returns a reply, inside { ":unsent", refusal, reply } if the server refused to send a message: the client warns then.
local function with_refusal(reply)
  return refusal and { ':unsent', refusal, reply } or reply
end

-- Has the head of the queue look again. A head whose client does not receive the message is passed over.
local function notify_head()
  for _, head in ipairs(redis.call('ZRANGE', KEYS.queue, 0, $QUEUE_WINDOW)) do
    local _, _, channel = read_waiter(head)
    if channel and (notify(channel, '$TURN' .. head) or 0) > 0 then return end
  end
end
