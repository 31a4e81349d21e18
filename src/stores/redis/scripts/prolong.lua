-- prolong: lets the members of a run be listed for as long as the lease of its holder, see lib/members.lua. A script of
-- its own, because renewals must not need another key than the lock's. It may come late, when the run is another's.
--
-- keys  lock queue waiters holders grants
-- args  handle lease_ms
--
-- reply  nothing
-- include members
if #read_members(redis.pcall('GET', KEYS.grants), ARGV.handle) > 0 then
  redis.call('PEXPIRE', KEYS.grants, ARGV.lease_ms)
end
