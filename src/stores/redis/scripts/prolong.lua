-- prolong: lets the members of a run be listed for as long as the lease of its holder, see lib/members.lua.
--
-- A script of its own, because renewals must not need another key than the lock's.
--
-- keys  lock queue waiters holders grants
-- args  lease_ms
--
-- reply  nothing
if type(redis.pcall('GET', KEYS.grants)) == 'string' then redis.call('PEXPIRE', KEYS.grants, ARGV.lease_ms) end
