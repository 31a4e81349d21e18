/** A Lua script and its SHA-1, by which the server knows it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/**
 * The longest time between two attempts of a waiter, in milliseconds: what a lost wake-up can cost. A waiter that has
 * missed three of them is taken for dead.
 */
export const POLL = 5_000;

/**
 * How long a lock is kept for the waiter whose turn it is, in milliseconds: many round trips, and a short break for the
 * others if that waiter has died unnoticed.
 */
export const CLAIM = 1_500;

/** Why a waiter is written to: it is its turn, or it is the next one. */
export const TURN = "!";
export const NEXT = "?";

/** How a waiter's channel is written down: with whether nobody hearing a message proves that its client is gone. */
export const PROVABLE = "!";
export const UNPROVABLE = "?";

// The numbers in the scripts: a waiter is dead after 15,000 ms (3 × POLL), and the queue of a lock expires then as
// well; a lock is reserved for the lease of whoever serves, but at least 250 ms, for a distant waiter, and at most
// 1,500 ms (CLAIM); waiters look again 20 ms apart, so that the head of the queue comes first; a fence is kept for
// 7 days.

/**
 * Serves the head of the queue. For `attempt` and `release`, which have the first three KEYS in common.
 *
 * Pops waiters until one is alive, reserves the lock for it for the claim time and tells it; the next in line is told
 * too, so that it looks again after the claim time in case the reservation is never claimed. A waiter that has not
 * asked for three polls, or whose channel nobody hears on a server where that is a proof, is dead and skipped: it comes
 * back with its old ticket should it live after all. A reservation instead of a grant, because a process that slept
 * through the message would believe in a lease that is over.
 *
 * Returns the owner that is served (`me` is served without a message), or false when nobody waits.
 */
const SERVE = `
local function serve(now, lease, me)
  while true do
    local head = redis.call('ZPOPMIN', KEYS[2])[1]
    if not head then return false end
    local entry = redis.call('HGET', KEYS[3], head)
    redis.call('HDEL', KEYS[3], head)
    if head == me then return head end
    local seen, provable, channel = string.match(entry or '', '^(%d+)(.)(.*)$')
    if seen and now - seen < 15000 then
      local heard = redis.call('PUBLISH', channel, '!' .. head)
      if heard > 0 or provable == '?' then
        redis.call('SET', KEYS[1], head, 'PX', math.min(math.max(lease, 250), 1500))
        local following = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
        if following then
          channel = string.match(redis.call('HGET', KEYS[3], following) or '', '^%d+.(.*)$')
          if channel then redis.call('PUBLISH', channel, '?' .. following) end
        end
        return head
      end
    end
  end
end
`;

/**
 * Takes the lock. For `attempt` and `vote`, which have all KEYS and the first four ARGV in common: lock, queue, waiters,
 * fence; owner, lease ms, and to wait when busy: how the waiter is reached (PROVABLE or UNPROVABLE and its channel) and
 * its ticket, empty when it has none.
 *
 * Granted when the lock is this owner's (reserved for it, or the reply to an earlier attempt was lost), or free with
 * nobody ahead. Free with somebody ahead: that one is served. The lease that the owner has is never made shorter.
 *
 * A ticket is the server's clock in µs at the first enqueue, but later than every ticket in the queue, should the clock
 * have been set back. A waiter that was dropped returns with its ticket.
 *
 * Replies when busy: [ms to the next attempt, ticket]. Goes on when granted.
 */
const TAKE = SERVE + `
local lock, owner = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local waiting = redis.call('ZCARD', KEYS[2])
local granted = tonumber(ARGV[2])

if waiting > 0 or not redis.call('SET', lock, owner, 'NX', 'PX', ARGV[2]) then
  local holder = redis.call('GET', lock)
  if holder == owner then
    granted = math.max(granted, redis.call('PTTL', lock))
  else
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    if ARGV[3] and ARGV[3] ~= '' then
      local ticket = ARGV[4]
      if ticket == '' then
        ticket = time[1] * 1000000 + time[2]
        local last = tonumber(redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2])
        if last and last >= ticket then ticket = last + 1 end
      end
      redis.call('HSET', KEYS[3], owner, now .. ARGV[3])
      waiting = waiting + redis.call('ZADD', KEYS[2], 'NX', ticket, owner)
      redis.call('PEXPIRE', KEYS[2], '15000')
      redis.call('PEXPIRE', KEYS[3], '15000')
    end
    local served = true
    if not holder then served = serve(now, ARGV[2], owner) end
    if served and served ~= owner then
      local left = redis.call('PTTL', lock)
      local rank = redis.call('ZRANK', KEYS[2], owner) or waiting
      if left < 0 then left = 5000 end
      return { math.min(left + 1 + rank * 20, 5000), redis.call('ZSCORE', KEYS[2], owner) or '' }
    end
  end
  redis.call('SET', lock, owner, 'PX', granted)
end
`;

/**
 * attempt. KEYS and ARGV: see TAKE.
 *
 * Takes the lock and issues a fence. After an error nothing is held: the fence is the only thing that can fail once the
 * lock is set, and then the lock is deleted.
 *
 * The fence is max(last + 1, server's clock in µs): a hybrid logical clock (Kulkarni et al. 2014), which still rises
 * after its key was lost. Numbers of 16 digits do not survive Lua's tostring: the clock's parts are joined as strings,
 * other fences are formatted.
 *
 * Replies: granted, the fence as a string; busy, [ms to the next attempt, ticket].
 */
const ATTEMPT = TAKE + `
local fence = time[1] .. string.sub('00000' .. time[2], -6)
local last = redis.pcall('SET', KEYS[4], fence, 'PX', '604800000', 'GET')
if type(last) == 'table' then
  redis.call('DEL', lock)
  return last
end
last = tonumber(last or 0)
if last and last >= tonumber(fence) then
  fence = string.format('%.0f', last + 1)
  redis.call('SET', KEYS[4], fence, 'PX', '604800000')
end
return fence
`;

/** Runs the attempt script; see there for keys, arguments and replies. */
export const attempt: Script = { source: ATTEMPT, sha: "87467e31d4ab2995249e9014dae90e91d07ce29f" };

/** A reply of the attempt script, decoded. */
export type AttemptReply =
  | { readonly granted: true; readonly fence: bigint }
  | { readonly granted: false; readonly retryAfter: number; readonly ticket: string };

/** Decodes a reply of the attempt script. */
export function decodeAttempt(reply: unknown): AttemptReply {
  if (!Array.isArray(reply)) return { granted: true, fence: BigInt(String(reply)) };
  return { granted: false, retryAfter: Number(reply[0]), ticket: String(reply[1]) };
}

/**
 * vote. KEYS and ARGV: see TAKE, with an empty string for what is not given; then a guess, and how many ms it may be ahead
 * of the server's clock.
 *
 * Takes the lock and, instead of issuing a fence, raises the counter to the guess if it is lower. After an error nothing
 * is held, as above. Nearly every guess is higher than the counter: so it is set first, and put back when it was not.
 *
 * Replies: granted and raised, the counter as a string; granted and not raised, [the counter as a string]; busy, [ms to
 * the next attempt, ticket].
 */
const VOTE = TAKE + `
local guess = tonumber(ARGV[5])
local fits = guess <= time[1] * 1000000 + time[2] + ARGV[6] * 1000
local counter
if fits then counter = redis.pcall('SET', KEYS[4], ARGV[5], 'PX', '604800000', 'GET')
else counter = redis.pcall('GET', KEYS[4]) end
if type(counter) == 'table' then
  redis.call('DEL', lock)
  return counter
end
counter = tonumber(counter or 0) or 0
if fits and counter < guess then return ARGV[5] end
counter = string.format('%.0f', counter)
if fits then redis.call('SET', KEYS[4], counter, 'PX', '604800000') end
return { counter }
`;

/** Runs the vote script; see there for keys, arguments and replies. */
export const vote: Script = { source: VOTE, sha: "6fd3f94d977e336bba9607ebebd1d7dd3b4c630c" };

/** A reply of the vote script, decoded. */
export type VoteReply =
  | { readonly granted: true; readonly counter: bigint; readonly raised: boolean }
  | { readonly granted: false; readonly retryAfter: number; readonly ticket: string };

/** Decodes a reply of the vote script. */
export function decodeVote(reply: unknown): VoteReply {
  if (!Array.isArray(reply)) return { granted: true, counter: BigInt(String(reply)), raised: true };
  const [first, ticket] = reply as unknown[];
  if (ticket === undefined) return { granted: true, counter: BigInt(String(first)), raised: false };
  return { granted: false, retryAfter: Number(first), ticket: String(ticket) };
}

/**
 * release. KEYS: lock, queue, waiters. ARGV: owner, lease ms.
 *
 * The lock is this owner's, held or reserved: the head of the queue is served, or the lock is deleted. Else the owner
 * leaves the queue.
 *
 * Replies: 1 if there was anything to give up, else 0.
 */
const RELEASE = SERVE + `
if redis.call('GET', KEYS[1]) == ARGV[1] then
  if redis.call('ZCARD', KEYS[2]) > 0 then
    local time = redis.call('TIME')
    if serve(time[1] * 1000 + math.floor(time[2] / 1000), ARGV[2]) then return 1 end
  end
  redis.call('DEL', KEYS[1])
  return 1
end
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.call('ZREM', KEYS[2], ARGV[1])
`;

/** Runs the release script; see there for keys, arguments and replies. */
export const release: Script = { source: RELEASE, sha: "565a2ef23a55d158ee9b29a6563d4823d30a4fd4" };

/**
 * renew. KEYS: lock. ARGV: owner, lease ms.
 *
 * Also makes a lease shorter, so that it is put right after the server's clock was set back.
 *
 * Replies: 1 if the lock is this owner's and its lease begins anew, else 0.
 */
const RENEW = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
`;

/** Runs the renew script; see there for keys, arguments and replies. */
export const renew: Script = { source: RENEW, sha: "f1c66239ba779c38fca646bc77904a0f1614075b" };

/**
 * confirm. KEYS: lock, fence. ARGV: owner, fence.
 *
 * Compares and raises: the counter must be lower than the fence, and the lock this owner's. With the owner alone two
 * owners could get one fence. A repeat is refused, which costs a round of votes and no more.
 *
 * Replies: 1 if both were so and the counter is the fence now, else 0.
 */
const CONFIRM = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if (tonumber(redis.call('GET', KEYS[2]) or 0) or 0) >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', '604800000')
return 1
`;

/** Runs the confirm script; see there for keys, arguments and replies. */
export const confirm: Script = { source: CONFIRM, sha: "d3bc2b44a856c3217f58764cff77d7f07456fa88" };

/**
 * retake. KEYS: lock, fence. ARGV: owner, lease ms, fence.
 *
 * Replies: 1 if nobody held the lock, the counter was still the fence, and the lock is this owner's again, else 0.
 */
const RETAKE = `
if tonumber(redis.call('GET', KEYS[2]) or 0) ~= tonumber(ARGV[3]) then return 0 end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0
`;

/** Runs the retake script; see there for keys, arguments and replies. */
export const retake: Script = { source: RETAKE, sha: "a8fec4a1802f46dddbd351e89654cfe946661722" };

/** Decodes a reply of the scripts that say yes or no. */
export function decodeFlag(reply: unknown): boolean {
  return Number(reply) === 1;
}
