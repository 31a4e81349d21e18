import type { Redis } from "ioredis";
import { assertEquals } from "@std/assert";
import type { IoredisClient, RedisSubscriber } from "../../src/stores/redis/clients/client.ts";
import { type Reply, ReplyError } from "./keyspace.ts";
import type { ScriptServer } from "./server.ts";

/** A client of a real server that has each script run on a server in memory as well, and compares the replies. */
export class TwinClient implements IoredisClient {
  readonly #real: Redis;
  readonly #twin: ScriptServer;
  readonly #sources = new Map<string, string>();
  #asked = "";
  /** How many scripts were run on both. */
  runs = 0;

  constructor(real: Redis, twin: ScriptServer) {
    this.#real = real;
    this.#twin = twin;
  }

  get status(): string {
    return this.#real.status;
  }

  evalsha(sha: string, numberOfKeys: number, ...rest: string[]): Promise<unknown> {
    this.#asked = sha;
    const source = this.#sources.get(sha);
    // The first time the server is to say that it does not know it: then the text comes.
    if (source === undefined) return Promise.reject(new ReplyError("NOSCRIPT"));
    return this.#both(source, numberOfKeys, rest);
  }

  eval(source: string, numberOfKeys: number, ...rest: string[]): Promise<unknown> {
    this.#sources.set(this.#asked, source);
    return this.#both(source, numberOfKeys, rest);
  }

  duplicate(...overrides: never[]): RedisSubscriber {
    return this.#real.duplicate(...overrides) as unknown as RedisSubscriber;
  }

  on(event: string, listener: (...values: never[]) => void): unknown {
    return this.#real.on(event as "close", listener as () => void);
  }

  scan(
    cursor: string,
    match: "MATCH",
    pattern: string,
    count: "COUNT",
    keys: number,
  ): Promise<[string, string[]]> {
    return this.#real.scan(cursor, match, pattern, count, keys);
  }

  async #both(source: string, numberOfKeys: number, rest: readonly string[]): Promise<Reply> {
    const real = await outcome(() => this.#real.eval(source, numberOfKeys, ...rest) as Promise<Reply>);
    const twin = await outcome(() => this.#twin.eval(source, rest.slice(0, numberOfKeys), rest.slice(numberOfKeys)));
    assertEquals(twin, real, `${source}\n${JSON.stringify(rest)}`);
    this.runs++;
    if ("error" in real) throw new ReplyError(real.error);
    return real.reply;
  }
}

/** Returns a reply, or the code of an error. */
async function outcome(run: () => Reply | Promise<Reply>): Promise<{ reply: Reply } | { error: string }> {
  try {
    return { reply: await run() };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { error: error.message.split(" ")[0]! };
  }
}
