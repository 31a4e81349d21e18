-- notify: wake-ups. Needs waiters. Writes no key.

-- Publishes a message. Returns how many clients received it, or false when the server refuses to send it: the user may
-- lack the right to the channel. Raises no error, because the queue has been changed by then, and a waiter that is not
-- notified asks again by itself.
local function notify(channel, message)
  local receivers = redis.pcall('PUBLISH', channel, message)
  return type(receivers) == 'number' and receivers
end

-- Has the head of the queue look again. A head whose client does not receive the message is passed over.
local function notify_head()
  for _, head in ipairs(redis.call('ZRANGE', KEYS.queue, 0, $QUEUE_WINDOW)) do
    local _, _, channel = read_waiter(head)
    if channel and (notify(channel, '$TURN' .. head) or 0) > 0 then return end
  end
end
