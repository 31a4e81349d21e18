import { general } from "./values.ts";

/** An error that a server replies with. */
export class ReplyError extends Error {
  override readonly name = "ReplyError";
}

/** What a server replies; `null` is nothing. */
export type Reply = null | number | string | { readonly ok: string } | Reply[];

/** What a key holds. */
export type Data = string | Map<string, string> | SortedSet;

interface Key {
  data: Data;
  /** Until when, in milliseconds of the server's clock. */
  expires: number | undefined;
}

/** Members in the order of their scores, and of their names where these are the same. */
export class SortedSet {
  readonly scores = new Map<string, number>();

  /** All members with their scores, in order. */
  get entries(): [member: string, score: number][] {
    return [...this.scores].sort(([a, first], [b, second]) => first - second || (a < b ? -1 : 1));
  }
}

/** The keys of a server, with the moments at which they expire. */
export class Keyspace {
  readonly #keys = new Map<string, Key>();
  readonly #now: () => number;

  /** `now` gives milliseconds of the server's clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns what a key holds; nothing once it has expired. */
  get(key: string): Data | undefined {
    return this.#live(key)?.data;
  }

  /** Returns what a key holds, if it is of a kind; rejects another one as the server does. */
  typed<T extends Data>(key: string, is: (data: Data) => data is T): T | undefined {
    const data = this.get(key);
    if (data === undefined || is(data)) return data;
    throw new ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value");
  }

  /** Lets a key hold something, and by default never expire. */
  set(key: string, data: Data, expires?: number): void {
    this.#keys.set(key, { data, expires });
  }

  /** Deletes a key; returns whether there was one. */
  delete(key: string): boolean {
    return this.#live(key) !== undefined && this.#keys.delete(key);
  }

  /** Returns when a key expires. */
  expires(key: string): number | undefined {
    return this.#live(key)?.expires;
  }

  /** Lets a key expire at a moment, or never; returns whether there is one. */
  expire(key: string, at: number | undefined): boolean {
    const found = this.#live(key);
    if (found === undefined) return false;
    if (at !== undefined && at <= this.#now()) this.#keys.delete(key);
    else found.expires = at;
    return true;
  }

  /** A sorted set or a hash that is empty is no key. */
  tidy(key: string): void {
    const data = this.#keys.get(key)?.data;
    if (data instanceof Map ? data.size === 0 : data instanceof SortedSet && data.scores.size === 0) {
      this.#keys.delete(key);
    }
  }

  /** Returns all keys that there were at the last look, and forgets those of them that have expired. */
  names(): string[] {
    const names = [...this.#keys.keys()];
    for (const name of names) this.#live(name);
    return names;
  }

  /** Returns all keys, with what they hold and when they expire, in the order of their names. */
  dump(): [key: string, data: unknown, expires: number | undefined][] {
    return [...this.#keys].sort(([a], [b]) => a < b ? -1 : 1).flatMap(([key, { data, expires }]) => {
      return expires !== undefined && this.#now() > expires ? [] : [[key, plain(data), expires]];
    });
  }

  #live(key: string): Key | undefined {
    const found = this.#keys.get(key);
    if (found?.expires === undefined || this.#now() <= found.expires) return found;
    this.#keys.delete(key);
    return undefined;
  }
}

function plain(data: Data): unknown {
  if (typeof data === "string") return data;
  if (data instanceof SortedSet) return data.entries.map(([member, score]) => [member, scoreText(score)]);
  return [...data].sort(([a], [b]) => a < b ? -1 : 1);
}

/** Returns a score as the server writes it. */
export function scoreText(score: number): string {
  return Number.isSafeInteger(score) ? String(score) : general(score, 17);
}
