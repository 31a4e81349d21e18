/** The part of a Redis client that `doctor` needs: it sends every command by its words, as ioredis does. */
export interface RedisProbe {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** The fields of INFO, of all requested sections. */
export type RedisInfo = ReadonlyMap<string, string>;

/** The sections of INFO that matter for locks. */
const SECTIONS = ["server", "memory", "persistence", "replication", "cluster"] as const;

/** Reads INFO of the server. */
export async function readInfo(probe: RedisProbe): Promise<RedisInfo> {
  const texts = await Promise.all(SECTIONS.map((section) => probe.call("INFO", section)));
  return parseInfo(texts.map(String).join("\n"));
}

/** Reads lines of the form `field:value`, and skips all others. */
export function parseInfo(text: string): RedisInfo {
  const lines = text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.flatMap((line): [string, string][] => {
    const colon = line.indexOf(":");
    return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
  }));
}

/** A replica, as its master lists it. */
export interface Replica {
  readonly address: string;
  readonly state: string;
  /** Seconds since the replica's last acknowledgement. */
  readonly lag: number;
}

/** Returns the replicas that a master lists. */
export function replicasOf(info: RedisInfo): Replica[] {
  return [...info].filter(([field]) => /^slave\d+$/.test(field)).map(([, value]) => {
    const fields = new Map(value.split(",").map((pair) => pair.split("=", 2) as [string, string]));
    return {
      address: `${fields.get("ip")}:${fields.get("port")}`,
      state: fields.get("state") ?? "unknown",
      lag: Number(fields.get("lag") ?? 0),
    };
  });
}

/** Returns a number of INFO; 0 when it is missing. */
export function numberOf(info: RedisInfo, field: string): number {
  return Number(info.get(field) ?? 0);
}

/** Returns a setting of the server; `undefined` when it has no such setting, or the user may not read it. */
export async function setting(probe: RedisProbe, name: string): Promise<string | undefined> {
  try {
    const reply = await probe.call("CONFIG", "GET", name);
    // RESP3 answers with a map, RESP2 with a list.
    if (Array.isArray(reply)) return reply[1] === undefined ? undefined : String(reply[1]);
    const value: unknown = reply instanceof Map ? reply.get(name) : Object(reply)[name];
    return value === undefined ? undefined : String(value);
  } catch {
    return undefined;
  }
}
