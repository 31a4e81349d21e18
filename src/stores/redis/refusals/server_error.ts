import { missingRight, type Rights } from "./rights.ts";

/** The meaning of an error of the server, the advice, and whether a retry is useless. */
export interface ServerError {
  readonly message: string;
  readonly permanent: boolean;
}

/** Redis 6.2 says first where in a script an error has arisen. */
const PLACE = /^ERR Error running script \(.*?\): (?:@user_script: ?\d+: )*-?/;

/** How a server says that a right is missing: the latter two within a script, Valkey and Redis 7.0. */
const DENIED = /^(?:NOPERM|ERR ACL failure in script|(?:ERR )?The user executing the script can't)/;

/** How a server and the clients refuse a command on a connection that is subscribed to channels. */
const SUBSCRIBED = /in subscriber mode|only \(P(?:\|S)?\)SUBSCRIBE/;

/** The requirements of a server. */
const NEEDED = "Redis 6.2 or later, or Valkey, is needed";

/** The other errors that do not pass by themselves, by the words of the server, and what they mean. */
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
  [/^CROSSSLOT/, "the keys of a lock must lie in one slot of the Cluster"],
];

// All other errors may pass by themselves. LOADING, MASTERDOWN, CLUSTERDOWN: a server starts or is replaced. READONLY:
// a former master, until the client finds the new one. TRYAGAIN, ASK: a slot is being moved. OOM, MISCONF, NOREPLICAS:
// memory, disk or replicas are short. BUSY: another program's script runs. NOSCRIPT: the scripts were flushed between
// two calls. ERR max number of clients reached. EXECABORT, UNBLOCKED and the like: another command interfered.

/** Explains the words with which the server has refused a command. */
export function explain(words: string, rights: Rights): ServerError {
  const plain = words.replace(PLACE, "");
  const meaning = DENIED.test(plain)
    ? missingRight(plain, rights)
    : PERMANENT.find(([pattern]) => pattern.test(plain))?.[1];
  return meaning === undefined
    ? { message: words, permanent: false }
    : { message: `${meaning}: ${words}`, permanent: true };
}

/** Returns whether an error says that the connection is subscribed to channels; some clients send no command then. */
export function isSubscribed(error: unknown): error is Error {
  return error instanceof Error && SUBSCRIBED.test(error.message);
}

/**
 * Returns whether the server has refused the login of the client. ioredis rejects with that error the commands that it
 * has not sent yet.
 */
export function isLoginFailure({ message }: Error): boolean {
  return /^(?:NOAUTH|WRONGPASS)/.test(message);
}
