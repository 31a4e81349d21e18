import { StoreError } from "../../../contract/errors.ts";
import type { RedisPort } from "../clients/port.ts";

/** The rights of a script, in the words of `ACL SETUSER`. */
export interface Rights {
  readonly user: string;
  /** The rights to the keys of the lock. */
  readonly keys: readonly string[];
  /** The rights to the commands of the script. */
  readonly commands: readonly string[];
}

/** The channels of the wake-ups, in the words of `ACL SETUSER`. */
const CHANNELS = "&holdfast:*";

/** The missing right, and the rule that grants it. */
type Missing = readonly [right: string, rule: string];

/** The missing rights, by the words of the server. The first row that matches counts. */
const MISSING: readonly (readonly [words: RegExp, missing: (rights: Rights, command: string) => Missing])[] = [
  [/ script .*\brun\b|in script.*\brun\b/, ({ commands }) => ["run the commands of the scripts", commands.join(" ")]],
  [/run the '(evalsha|eval)'/, (_, command) => [`run ${command}`, "+evalsha +eval"]],
  [/run the '(subscribe)'/, (_, command) => [`run ${command}`, `+subscribe ${CHANNELS}`]],
  [/run the '([^'| ]+)/, (_, command) => [`run ${command}`, `+${command}`]],
  [/channel/, () => ["use the channels of the wake-ups", CHANNELS]],
  [/./, ({ keys }) => ["use the keys of the locks", keys.join(" ")]],
];

/** Returns the right that a user lacks, by the words of the server's refusal, and the rule that grants it. */
export function missingRight(words: string, rights: Rights): string | undefined {
  for (const [pattern, missing] of MISSING) {
    const match = pattern.exec(words);
    if (match === null) continue;
    const [right, rule] = missing(rights, match[1] ?? "");
    return `the user ${JSON.stringify(rights.user)} may not ${right}; "ACL SETUSER ${rights.user} ${rule}" grants it`;
  }
  return undefined;
}

/**
 * Returns the rights that a script needs.
 *
 * @param keys the lock's key and the next key, without the client's prefix
 */
export function rightsFor(
  user: string,
  source: string,
  [lock = "", tagged = lock]: readonly string[],
  prefix: string,
  keyPrefix: string,
): Rights {
  const commands = [...source.matchAll(/redis\.p?call\('(\w+)'/g)].map(([, name = ""]) => `+${name.toLowerCase()}`);
  const start = `{${keyPrefix}${prefix}`;
  // With a brace in the name the tag is only a part of it.
  const tag = tagged === lock || tagged.startsWith(start) ? escape(start) : `{*}${escape(prefix)}`;
  const keys = [`~${escape(keyPrefix + prefix)}*`, `~${escape(keyPrefix)}${tag}*`];
  return { user, keys, commands: [...new Set(commands)] };
}

/** Returns the rights of a user when only the name matters. */
function rightsOf(user: string): Rights {
  return { user, keys: [], commands: [] };
}

function escape(text: string): string {
  return text.replace(/[*?[\]\\^-]/g, "\\$&");
}

/** The server's words for a missing database, and for a Cluster node, which has only one. */
export const NO_DATABASE = /DB index|out of range|in cluster mode/i;

/** Returns the error for a server's refusal to select a database for a user. */
export function refusalOf(database: unknown, error: Error, user: string): StoreError {
  const { message, permanent } = explain({ user }, error.message);
  return new StoreError(`the server refuses database ${database}: ${message}`, {
    cause: error,
    permanent: permanent || NO_DATABASE.test(message),
  });
}

/** The meaning of an error of the server, the advice, and whether a retry is useless. */
export interface ServerError {
  readonly message: string;
  readonly permanent: boolean;
}

/** The place in a script that Redis 6.2 puts before an error. */
const PLACE = /^ERR Error running script \(.*?\): (?:@user_script: ?\d+: )*-?/;

/** The server's words for a missing right; the latter two within a script, in Valkey and Redis 7.0. */
const DENIED = /^(?:NOPERM|ERR ACL failure in script|(?:ERR )?The user executing the script can't)/;

/** The refusal of the server and the clients to run a command on a connection that is subscribed to channels. */
const SUBSCRIBED = /in subscriber mode|only \(P(?:\|S)?\)SUBSCRIBE/;

/** The refusal of ioredis to pipeline keys of a lock to a Cluster, when it hashes them unlike the server. */
const UNLIKE = /^All the keys in a pipeline command should belong to the same slot$/;

const NEEDED = "Redis 6.2 or later, or Valkey, is needed";

/** The other errors that do not pass by themselves, by the words of the server, with their meanings. */
const PERMANENT: readonly (readonly [words: RegExp, meaning: string])[] = [
  // Somebody has to change the credentials.
  [/^NOAUTH/, "the client has no password"],
  [/^WRONGPASS/, "the client has a wrong user name or password"],
  // Somebody has to change the configuration of the server.
  [/^DENIED/, "the server accepts no clients from other hosts"],
  // Somebody has to delete the key.
  [/^WRONGTYPE/, "a key of the lock is used for something else"],
  // The server is of another kind, or older.
  [/unknown command.*\b(?:evalsha|eval)\b/is, `the server does not run scripts (EVALSHA and EVAL); ${NEEDED}`],
  [/unknown (?:redis |valkey )?command/i, `the server lacks a command that locks need; ${NEEDED}`],
  // Before 6.2 SET did not take GET; before 5.0 a script could not write after it had asked for the time.
  [/syntax error|non deterministic commands/i, `the server is too old, or only resembles Redis; ${NEEDED}`],
  // The client is of the wrong kind, is used for something else, or puts the keys of a lock into several slots.
  [SUBSCRIBED, "the client is subscribed to channels: pass another one, which only runs commands"],
  [/^MOVED /, "the server is a node of a Cluster, which needs a Cluster client"],
  [UNLIKE, 'ioredis hashes a key wrongly in which "{}" stands before another "}": choose another name of the lock'],
  [/^CROSSSLOT/, "the keys of a lock must lie in one slot of the Cluster"],
];

// All other errors may pass by themselves. LOADING, MASTERDOWN, CLUSTERDOWN: a server starts or is replaced. READONLY:
// a former master, until the client finds the new one. TRYAGAIN, ASK: a slot is being moved. OOM, MISCONF, NOREPLICAS:
// memory, disk or replicas are short. BUSY: another program's script runs. NOSCRIPT: the scripts were flushed between
// two calls. ERR max number of clients reached. EXECABORT, UNBLOCKED and the like: another command interfered.

/** Explains a server's refusal of a command of a client. */
export function explain(
  { user, followsSlots }: Pick<RedisPort, "user" | "followsSlots">,
  words: string,
  rights: Rights = rightsOf(user),
): ServerError {
  // Behind a failover, in a pipeline or after too many nodes: the client finds the new one.
  if (followsSlots && words.startsWith("MOVED ")) return { message: words, permanent: false };
  const plain = words.replace(PLACE, "");
  const meaning = DENIED.test(plain)
    ? missingRight(plain, rights)
    : PERMANENT.find(([pattern]) => pattern.test(plain))?.[1];
  return meaning === undefined
    ? { message: words, permanent: false }
    : { message: `${meaning}: ${words}`, permanent: true };
}

/** Returns whether an error says that the client has sent nothing, and will not. */
export function isUnsent(error: unknown): error is Error {
  return isSubscribed(error) || error instanceof Error && UNLIKE.test(error.message);
}

/** Returns whether an error says that the connection is subscribed to channels; some clients send no command then. */
export function isSubscribed(error: unknown): error is Error {
  return error instanceof Error && SUBSCRIBED.test(error.message);
}

/** Returns whether the server has refused the login. ioredis rejects the unsent commands of the client with that. */
export function isLoginFailure({ message }: Error): boolean {
  return /^(?:NOAUTH|WRONGPASS)/.test(message);
}
