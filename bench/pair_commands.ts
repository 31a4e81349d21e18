import type { RedisClient } from "@holdfast/lock";
import type { Redis } from "ioredis";
import type { RedisClientType } from "redis";

/** The commands of bare pairs and of scripts by themselves, as users of a client library write them. */
export interface PairCommands {
  /** Loads a script. Resolves to its SHA-1. */
  load(script: string): Promise<unknown>;
  /** Sets a key for some milliseconds, unless there is one. Resolves to `"OK"` if there was none. */
  set(key: string, owner: string, lease: number): Promise<unknown>;
  /** Runs a script. */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
}

/** A client of valkey-glide as its users call it, with texts in the replies. */
interface GlideCommands {
  customCommand(words: string[]): Promise<unknown>;
}

/** Returns the commands of a client. */
export function commandsOf(client: RedisClient): PairCommands {
  if ("evalSha" in client) return ofNodeRedis(client as unknown as RedisClientType);
  if ("postCommand" in client) return sentBy((words) => client.postCommand(...words));
  if ("customCommand" in client) return sentBy((words) => (client as unknown as GlideCommands).customCommand(words));
  if ("send" in client) return sentBy(([command = "", ...words]) => client.send(command, words));
  const ioredis = client as Redis;
  return {
    load: (script) => ioredis.script("LOAD", script),
    set: (key, owner, lease) => ioredis.set(key, owner, "PX", lease, "NX"),
    evalsha: (sha, keys, args) => ioredis.evalsha(sha, keys.length, ...keys, ...args),
  };
}

function ofNodeRedis(client: RedisClientType): PairCommands {
  return {
    load: (script) => client.scriptLoad(script),
    set: (key, owner, lease) => client.set(key, owner, { NX: true, PX: lease }),
    evalsha: (sha, keys, args) => client.evalSha(sha, { keys, arguments: args }),
  };
}

function sentBy(send: (words: string[]) => Promise<unknown>): PairCommands {
  return {
    load: (script) => send(["SCRIPT", "LOAD", script]),
    set: (key, owner, lease) => send(["SET", key, owner, "PX", `${lease}`, "NX"]),
    evalsha: (sha, keys, args) => send(["EVALSHA", sha, `${keys.length}`, ...keys, ...args]),
  };
}
