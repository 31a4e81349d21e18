import type { Conflict, Entry, Kind, Snapshot } from "../../store.ts";
import { HOLDS } from "./holds.ts";
import { ENTRY, EVICT, SERVE } from "./queue.ts";
import { TAKE } from "./take.ts";

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

/** The channel on which all clients hear which holds were taken away. */
export const EVICTED = "holdfast:evicted";

/**
 * attempt. KEYS and ARGV: see TAKE.
 *
 * Takes the lock and issues a fence, or gives the one that the owner has. After an error nothing is held: the fence is
 * the only thing that can fail once the lock is set, and then the lock is deleted.
 *
 * The fence is max(last + 1, server's clock in µs): a hybrid logical clock (Kulkarni et al. 2014), which still rises
 * after its key was lost. Numbers of 16 digits do not survive Lua's tostring: the clock's parts are joined as strings,
 * other fences are formatted.
 *
 * Replies: granted, the fence as a string; busy or a conflict, see TAKE.
 */
const ATTEMPT = TAKE + `
if owner then
  local known = tonumber(redis.call('ZSCORE', KEYS[4], owner))
  if known < 0 then return string.format('%.0f', -known) end
end
local fence = time[1] .. string.sub('00000' .. time[2], -6)
local last = redis.pcall('SET', KEYS[5], fence, 'PX', '604800000', 'GET')
if type(last) == 'table' then
  redis.call('DEL', lock)
  return last
end
last = tonumber(last or 0)
if last and last >= tonumber(fence) then
  fence = string.format('%.0f', last + 1)
  redis.call('SET', KEYS[5], fence, 'PX', '604800000')
end
if owner then redis.call('ZADD', KEYS[4], '-' .. fence, owner) end
return fence
`;

/** Runs the attempt script; see there for keys, arguments and replies. */
export const attempt: Script = { source: ATTEMPT, sha: "54b3902d5ed22c0db5167eb200f5153728092289" };

/** What the scripts that take the lock answer when they do not. */
export type Refusal =
  | { readonly granted: false; readonly retryAfter: number; readonly ticket: string }
  | { readonly granted: false; readonly conflict: Conflict };

/** A reply of the attempt script, decoded. */
export type AttemptReply = { readonly granted: true; readonly fence: bigint } | Refusal;

/** Decodes a reply of the attempt script. */
export function decodeAttempt(reply: unknown): AttemptReply {
  return Array.isArray(reply) ? decodeRefusal(reply) : { granted: true, fence: BigInt(String(reply)) };
}

/** Decodes a refusal. */
export function decodeRefusal([first, second]: readonly unknown[]): Refusal {
  const present = String(first);
  if (present.startsWith(":")) {
    return { granted: false, conflict: { present: decodeKind(present), own: Number(second) === 1 } };
  }
  return { granted: false, retryAfter: Number(first), ticket: String(second) };
}

/** How a kind of lock is written down: see TAKE, of whose markers only some are in the lock's own key. */
export function decodeKind(marker: string): Kind {
  const [, permits] = /^:permits=(\d+)$/.exec(marker) ?? [];
  if (permits !== undefined) return Number(permits);
  return marker === ":shared" ? "shared" : "exclusive";
}

/**
 * release. KEYS: lock, queue, waiters, holders. ARGV: hold, lease ms.
 *
 * The hold is held or reserved: it ends, and the lock with the last one. Else it leaves the queue. Either way the queue
 * is served: who waits behind may not have to wait any more.
 *
 * Replies: 1 if there was anything to give up, else 0.
 */
const RELEASE = `
local hold = ARGV[1]
local value = redis.call('GET', KEYS[1])
if value == hold or value and string.match(value, '^:%S+ (.*)$') == hold then
  if redis.call('ZCARD', KEYS[2]) == 0 then return redis.call('DEL', KEYS[1]) end
end
local time = redis.call('TIME')
` + HOLDS + SERVE + `
local given = 1
if listed(hold) then purge() end
if holder == hold then
  holder = false
elseif listed(hold) and drop({ hold }) == 1 then
  settle()
else
  given = leave(hold)
end
if given == 1 and (not holder or several()) then
  serve(tonumber(ARGV[2]))
  if not holder then redis.call('DEL', KEYS[1]) end
end
return given
`;

/** Runs the release script; see there for keys, arguments and replies. */
export const release: Script = { source: RELEASE, sha: "e3d4cbee4b169779377b816d489a0c9e2812cb12" };

/**
 * renew. KEYS: lock and, unless it is exclusive and the owner fresh, queue, waiters, holders. ARGV: hold, lease ms.
 *
 * Also makes a lease shorter, so that it is put right after the server's clock was set back. A server without memory
 * refuses a script whose first write would take some: the first only moves the end of the list.
 *
 * Replies: 1 if the hold is held and its lease begins anew, else 0.
 */
const RENEW = `
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] or value and string.match(value, '^:%S+ (.*)$') == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if not KEYS[4] then return 0 end
local time = redis.call('TIME')
` + HOLDS + `
if not holds(ARGV[1]) then return 0 end
redis.call('PEXPIRE', KEYS[4], ARGV[2])
redis.call('ZADD', KEYS[4], now + ARGV[2], ARGV[1])
settle()
return 1
`;

/** Runs the renew script; see there for keys, arguments and replies. */
export const renew: Script = { source: RENEW, sha: "7d20a50a9fca761086fb2fead82382f4c33e8d05" };

/**
 * held. KEYS: lock, queue, waiters, holders. ARGV: hold.
 *
 * Replies: 1 if the hold is held, else 0.
 */
const HELD = `
local time = redis.call('TIME')
` + HOLDS + `
return holds(ARGV[1]) and 1 or 0
`;

/** Runs the held script; see there for keys, arguments and replies. */
export const held: Script = { source: HELD, sha: "7cc4ef942fbd09cd475c0f999821c9fceb1f1f43" };

/**
 * evict. KEYS: lock, queue, waiters, holders. ARGV: ms to keep the lock for whose turn it is.
 *
 * Replies: how many holds there were.
 */
const EVICTION = `
local time = redis.call('TIME')
` + HOLDS + SERVE + EVICT + `
local evicted = evict()
serve(tonumber(ARGV[1]))
return evicted
`;

/** Runs the evict script; see there for keys, arguments and replies. */
export const evict: Script = { source: EVICTION, sha: "d0270c10b362d60dbcf056f8d8373cbbcbc39b0c" };

/**
 * look. KEYS: lock, queue, waiters, holders. Only reads.
 *
 * Replies: [what the lock is, a marker or an owner; the owners of the holds; for each live waiter, in order, its owner
 * and what it waits for], nothing when the lock's key is of another type.
 */
const LOOK = `
if type(redis.pcall('GET', KEYS[1])) == 'table' then return {} end
local time = redis.call('TIME')
` + HOLDS + ENTRY + `
local function ownerOf(hold)
  local owner = named(hold)
  return owner and string.sub(owner, 1, -2) or hold
end
local owners, waiters = { alone or holder or nil }, {}
if alone then
  holder = marker
elseif several() or holder and redis.call('ZSCORE', KEYS[4], holder) then
  owners = {}
  for _, hold in ipairs(redis.call('ZRANGE', KEYS[4], '(' .. now, '+inf', 'BYSCORE')) do
    table.insert(owners, ownerOf(hold))
  end
end
for _, hold in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local seen, _, _, kind = entry(hold)
  if seen and now - seen < 15000 then
    table.insert(waiters, ownerOf(hold))
    table.insert(waiters, kind)
  end
end
return { holder or '', owners, waiters }
`;

/** Runs the look script; see there for keys and replies. */
export const look: Script = { source: LOOK, sha: "4891048daa15334b8e491cbe8c08728fee9e4eb0" };

/** Decodes a reply of the look script about the lock of this name. */
export function decodeLook(name: string, reply: unknown): Snapshot {
  const [holder = "", owners = [], waiters = []] = reply as [string?, string[]?, string[]?];
  const entry = (owner: string, marker: string): Entry => {
    const kind = decodeKind(marker);
    return typeof kind === "number" ? { name, owner, mode: "exclusive", permits: kind } : { name, owner, mode: kind };
  };
  return {
    held: owners.map((owner) => entry(String(owner), String(holder))),
    pending: waiters.flatMap((owner, i) => i % 2 === 0 ? [entry(String(owner), String(waiters[i + 1]))] : []),
  };
}

/** Decodes a reply of the scripts that say yes or no. */
export function decodeFlag(reply: unknown): boolean {
  return Number(reply) === 1;
}
