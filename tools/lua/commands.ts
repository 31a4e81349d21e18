import { type Data, type Keyspace, type Reply, ReplyError, scoreText, SortedSet } from "./keyspace.ts";

/** What commands run on. */
export interface Host {
  readonly keys: Keyspace;
  /** The server's clock, in microseconds. */
  readonly now: () => number;
  /** Publishes a message; returns how many receive it. */
  readonly publish: (channel: string, message: string) => number;
}

type Command = (host: Host, args: readonly string[]) => Reply;

const OK: Reply = { ok: "OK" };

const isString = (data: Data): data is string => typeof data === "string";
const isHash = (data: Data): data is Map<string, string> => data instanceof Map;
const isSorted = (data: Data): data is SortedSet => data instanceof SortedSet;

/** Runs a command as a server does. */
export function execute(host: Host, words: readonly string[]): Reply {
  const [name = "", ...args] = words;
  const command = COMMANDS[name.toUpperCase()];
  if (command === undefined) throw new ReplyError(`ERR unknown command '${name}'`);
  return command(host, args);
}

function integer(text: string | undefined): number {
  if (text === undefined || !/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw new ReplyError("ERR value is not an integer or out of range");
  }
  return Number(text);
}

function float(text: string | undefined): number {
  const infinite = /^([-+]?)inf(inity)?$/i.exec(text ?? "");
  if (infinite !== null) return infinite[1] === "-" ? -Infinity : Infinity;
  if (text === undefined || text === "" || Number.isNaN(Number(text))) {
    throw new ReplyError("ERR value is not a valid float");
  }
  return Number(text);
}

/** Returns a bound of scores, and whether it is itself outside. */
function bound(text: string | undefined): { score: number; open: boolean } {
  const open = text?.startsWith("(") === true;
  try {
    return { score: float(open ? text.slice(1) : text), open };
  } catch {
    throw new ReplyError("ERR min or max is not a float");
  }
}

function within(score: number, low: ReturnType<typeof bound>, high: ReturnType<typeof bound>): boolean {
  return (low.open ? score > low.score : score >= low.score) && (high.open ? score < high.score : score <= high.score);
}

/** Takes an option off the list of words, and as many words after it as it has. */
function option(words: string[], name: string, values = 0): string[] | undefined {
  const at = words.findIndex((word) => word.toUpperCase() === name);
  return at < 0 ? undefined : words.splice(at, 1 + values).slice(1);
}

function milliseconds({ now }: Host): number {
  return Math.floor(now() / 1_000);
}

function positive(text: string | undefined, command: string): number {
  const ms = integer(text);
  if (ms <= 0) throw new ReplyError(`ERR invalid expire time in '${command}' command`);
  return ms;
}

function set(host: Host, [key = "", value = "", ...rest]: readonly string[]): Reply {
  const words = [...rest];
  const px = option(words, "PX", 1);
  const ex = option(words, "EX", 1);
  const [nx, xx, get, keep] = ["NX", "XX", "GET", "KEEPTTL"].map((name) => option(words, name) !== undefined);
  if (words.length > 0) throw new ReplyError("ERR syntax error");
  const ms = px !== undefined ? positive(px[0], "set") : ex !== undefined ? 1_000 * positive(ex[0], "set") : undefined;
  const { keys } = host;
  const before = get ? keys.typed(key, isString) ?? null : null;
  const exists = keys.get(key) !== undefined;
  if (nx && exists || xx && !exists) return before;
  const kept = keep ? keys.expires(key) : undefined;
  keys.set(key, value, ms === undefined ? kept : milliseconds(host) + ms);
  return get ? before : OK;
}

function expire(host: Host, [key = "", ms, ...words]: readonly string[]): Reply {
  const { keys } = host;
  const before = keys.expires(key);
  const at = milliseconds(host) + integer(ms);
  if (keys.get(key) === undefined) return 0;
  const flags = words.map((word) => word.toUpperCase());
  if (flags.includes("NX") && before !== undefined || flags.includes("XX") && before === undefined) return 0;
  if (flags.includes("GT") && (before === undefined || at <= before)) return 0;
  if (flags.includes("LT") && before !== undefined && at >= before) return 0;
  return Number(keys.expire(key, at));
}

function sorted({ keys }: Host, key: string): SortedSet {
  return keys.typed(key, isSorted) ?? new SortedSet();
}

function addScores(host: Host, [key = "", ...rest]: readonly string[]): Reply {
  const words = [...rest];
  const flags = new Set<string>();
  while (/^(NX|XX|GT|LT|CH|INCR)$/i.test(words[0] ?? "")) flags.add(words.shift()!.toUpperCase());
  if (words.length === 0 || words.length % 2 === 1) throw new ReplyError("ERR syntax error");
  const pairs = words.flatMap((word, i) => i % 2 === 0 ? [[float(word), words[i + 1]!] as const] : []);
  const set = sorted(host, key);
  let added = 0;
  let changed = 0;
  let last: number | undefined;
  for (const [given, member] of pairs) {
    const before = set.scores.get(member);
    const score = flags.has("INCR") ? (before ?? 0) + given : given;
    if (before === undefined ? flags.has("XX") : flags.has("NX")) continue;
    if (before !== undefined && (flags.has("GT") && score <= before || flags.has("LT") && score >= before)) continue;
    if (before === undefined) added++;
    if (before !== score) changed++;
    set.scores.set(member, last = score);
  }
  if (set.scores.size > 0) host.keys.set(key, set, host.keys.expires(key));
  if (flags.has("INCR")) return last === undefined ? null : scoreText(last);
  return flags.has("CH") ? changed : added;
}

function removeMembers(host: Host, key: string, members: readonly string[]): number {
  const { scores } = sorted(host, key);
  const removed = members.filter((member) => scores.delete(member)).length;
  host.keys.tidy(key);
  return removed;
}

/** Returns the part of a list between two places, which count from the end when they are negative. */
function part<T>(list: readonly T[], from: number, to: number): T[] {
  const start = from < 0 ? Math.max(0, list.length + from) : from;
  return list.slice(start, (to < 0 ? list.length + to : to) + 1);
}

function range(host: Host, [key = "", from, to, ...rest]: readonly string[]): Reply {
  const words = [...rest];
  const limit = option(words, "LIMIT", 2);
  const [scores, byScore, reverse] = ["WITHSCORES", "BYSCORE", "REV"].map((name) => option(words, name) !== undefined);
  if (words.length > 0) throw new ReplyError("ERR syntax error");
  const { entries } = sorted(host, key);
  if (reverse) entries.reverse();
  let found: [string, number][];
  if (byScore) {
    const [low, high] = reverse ? [bound(to), bound(from)] : [bound(from), bound(to)];
    found = entries.filter(([, score]) => within(score, low, high));
    if (limit !== undefined) {
      const [skipped, count] = limit.map(integer);
      found = found.slice(skipped, count! < 0 ? undefined : skipped! + count!);
    }
  } else found = part(entries, integer(from), integer(to));
  return found.flatMap(([member, score]) => scores ? [member, scoreText(score)] : [member]);
}

function hash({ keys }: Host, key: string): Map<string, string> {
  return keys.typed(key, isHash) ?? new Map();
}

function setFields(host: Host, [key = "", ...words]: readonly string[]): Reply {
  if (words.length === 0 || words.length % 2 === 1) throw new ReplyError("ERR wrong number of arguments");
  const fields = hash(host, key);
  const before = fields.size;
  for (let i = 0; i < words.length; i += 2) fields.set(words[i]!, words[i + 1]!);
  host.keys.set(key, fields, host.keys.expires(key));
  return fields.size - before;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  DEL: ({ keys }, args) => args.filter((key) => keys.delete(key)).length,
  EXISTS: ({ keys }, args) => args.filter((key) => keys.get(key) !== undefined).length,
  GET: ({ keys }, [key = ""]) => keys.typed(key, isString) ?? null,
  HDEL: (host, [key = "", ...fields]) => {
    const found = hash(host, key);
    const deleted = fields.filter((field) => found.delete(field)).length;
    host.keys.tidy(key);
    return deleted;
  },
  HEXISTS: (host, [key = "", field = ""]) => Number(hash(host, key).has(field)),
  HGET: (host, [key = "", field = ""]) => hash(host, key).get(field) ?? null,
  HGETALL: (host, [key = ""]) => [...hash(host, key)].flat(),
  HINCRBY: (host, [key = "", field = "", by]) => {
    const number = integer(hash(host, key).get(field) ?? "0") + integer(by);
    setFields(host, [key, field, String(number)]);
    return number;
  },
  HKEYS: (host, [key = ""]) => [...hash(host, key).keys()],
  HLEN: (host, [key = ""]) => hash(host, key).size,
  HMGET: (host, [key = "", ...fields]) => fields.map((field) => hash(host, key).get(field) ?? null),
  HSET: setFields,
  HSETNX: (host, [key = "", field = "", value = ""]) => {
    return hash(host, key).has(field) ? 0 : setFields(host, [key, field, value]);
  },
  INCR: (host, [key = ""]) => execute(host, ["INCRBY", key, "1"]),
  INCRBY: ({ keys }, [key = "", by]) => {
    const number = integer(keys.typed(key, isString) ?? "0") + integer(by);
    keys.set(key, String(number), keys.expires(key));
    return number;
  },
  PERSIST: ({ keys }, [key = ""]) => Number(keys.expires(key) !== undefined && keys.expire(key, undefined)),
  PEXPIRE: expire,
  PEXPIREAT: (host, [key = "", at, ...words]) => {
    return expire(host, [key, String(integer(at) - milliseconds(host)), ...words]);
  },
  PEXPIRETIME: ({ keys }, [key = ""]) => keys.get(key) === undefined ? -2 : keys.expires(key) ?? -1,
  PTTL: (host, [key = ""]) => {
    const expires = host.keys.expires(key);
    if (host.keys.get(key) === undefined) return -2;
    return expires === undefined ? -1 : expires - milliseconds(host);
  },
  PUBLISH: ({ publish }, [channel = "", message = ""]) => publish(channel, message),
  SET: set,
  TIME: ({ now }) => [String(Math.floor(now() / 1e6)), String(Math.floor(now() % 1e6))],
  TYPE: ({ keys }, [key = ""]) => {
    const data = keys.get(key);
    if (data === undefined) return { ok: "none" };
    return { ok: isString(data) ? "string" : isHash(data) ? "hash" : "zset" };
  },
  ZADD: addScores,
  ZCARD: (host, [key = ""]) => sorted(host, key).scores.size,
  ZCOUNT: (host, [key = "", from, to]) => {
    return [...sorted(host, key).scores.values()].filter((score) => within(score, bound(from), bound(to))).length;
  },
  ZINCRBY: (host, [key = "", by = "", member = ""]) => addScores(host, [key, "INCR", by, member]),
  ZMSCORE: (host, [key = "", ...members]) => members.map((member) => execute(host, ["ZSCORE", key, member])),
  ZRANGE: range,
  ZRANGEBYSCORE: (host, [key = "", from = "", to = "", ...rest]) => range(host, [key, from, to, "BYSCORE", ...rest]),
  ZRANK: (host, [key = "", member]) => {
    const rank = sorted(host, key).entries.findIndex(([each]) => each === member);
    return rank < 0 ? null : rank;
  },
  ZREM: (host, [key = "", ...members]) => removeMembers(host, key, members),
  ZREMRANGEBYRANK: (host, [key = "", from, to]) => {
    return removeMembers(
      host,
      key,
      part(sorted(host, key).entries, integer(from), integer(to)).map(([member]) => member),
    );
  },
  ZREMRANGEBYSCORE: (host, [key = "", from, to]) => {
    const [low, high] = [bound(from), bound(to)];
    const members = sorted(host, key).entries.filter(([, score]) => within(score, low, high));
    return removeMembers(host, key, members.map(([member]) => member));
  },
  ZSCORE: (host, [key = "", member = ""]) => {
    const score = sorted(host, key).scores.get(member);
    return score === undefined ? null : scoreText(score);
  },
};
