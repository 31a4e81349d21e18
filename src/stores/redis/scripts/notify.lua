-- notify: notifies the head of the queue that the lock will be free earlier than it was told. A script of its own,
-- because renewals must not need the keys of the queue.
--
-- keys  lock queue waiters
-- args  none
--
-- reply  nothing
-- include waiters notify
notify_head()
return with_refusal()
