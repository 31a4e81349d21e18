import { CHANGES, HOLDS } from "./holds.ts";
import { decodeRefusal, type Refusal, type Script } from "./scripts.ts";
import { TAKE } from "./take.ts";

/**
 * vote. KEYS and ARGV: see TAKE, with an empty string for what is not given; then a guess, and how many ms it may be ahead
 * of the server's clock.
 *
 * Takes the lock and, instead of issuing a fence, raises the counter to the guess if it is lower. After an error nothing
 * is held, as above. Nearly every guess is higher than the counter: so it is set first, and put back when it was not.
 *
 * Replies: granted and raised, the counter as a string; granted and not raised, [the counter as a string]; busy or a
 * conflict, see TAKE.
 */
const VOTE = TAKE + `
local guess = tonumber(ARGV[6])
local possible = guess <= time[1] * 1000000 + time[2] + ARGV[7] * 1000
local counter
if possible then counter = redis.pcall('SET', KEYS[5], ARGV[6], 'PX', '604800000', 'GET')
else counter = redis.pcall('GET', KEYS[5]) end
if type(counter) == 'table' then
  redis.call('DEL', lock)
  return counter
end
counter = tonumber(counter or 0) or 0
if possible and counter < guess then return ARGV[6] end
counter = string.format('%.0f', counter)
if possible then redis.call('SET', KEYS[5], counter, 'PX', '604800000') end
return { counter }
`;

/** Runs the vote script; see there for keys, arguments and replies. */
export const vote: Script = { source: VOTE, sha: "37dc2021785283063590380bca12c419b0b3ab32" };

/** A reply of the vote script, decoded. */
export type VoteReply = { readonly granted: true; readonly counter: bigint; readonly raised: boolean } | Refusal;

/** Decodes a reply of the vote script. */
export function decodeVote(reply: unknown): VoteReply {
  if (!Array.isArray(reply)) return { granted: true, counter: BigInt(String(reply)), raised: true };
  if (reply.length > 1) return decodeRefusal(reply);
  return { granted: true, counter: BigInt(String(reply[0])), raised: false };
}

/**
 * confirm. KEYS: lock, queue, waiters, holders, fence. ARGV: hold, fence.
 *
 * Compares and raises: the counter must be lower than the fence, and the hold held. With the hold alone two owners could
 * get one fence. A repeat is refused, which costs a round of votes and no more.
 *
 * Replies: 1 if both were so and the counter is the fence now, else 0.
 */
const CONFIRM = `
local time = redis.call('TIME')
` + HOLDS + `
if not holds(ARGV[1]) then return 0 end
if (tonumber(redis.call('GET', KEYS[5]) or 0) or 0) >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[5], ARGV[2], 'PX', '604800000')
return 1
`;

/** Runs the confirm script; see there for keys, arguments and replies. */
export const confirm: Script = { source: CONFIRM, sha: "9e66c7bb88f7e3e2a26c4f613586a4c462fef3ad" };

/**
 * retake. KEYS: lock, queue, waiters, holders, fence. ARGV: hold, lease ms, what is asked for (see TAKE), fence.
 *
 * Replies: 1 if the hold fits beside the holders, the counter was still the fence, and the hold is held again, else 0.
 */
const RETAKE = `
if tonumber(redis.call('GET', KEYS[5]) or 0) ~= tonumber(ARGV[4]) then return 0 end
local time = redis.call('TIME')
` + HOLDS + CHANGES + `
local hold, kind = ARGV[1], ARGV[3] == ':exclusive' and '' or ARGV[3]
if listed(hold) then purge() end
if not fits(kind, named(hold)) then return 0 end
take(hold, kind, tonumber(ARGV[2]))
return 1
`;

/** Runs the retake script; see there for keys, arguments and replies. */
export const retake: Script = { source: RETAKE, sha: "ad18079b3b30270a5ef8cf72db5dad303ba9b26e" };
