/**
 * A Cloudflare Worker with locks in a database of Upstash, over HTTP: however many requests ask for a report at once,
 * wherever, one of them writes it, and the others wait for it.
 *
 * **It was tried neither on Cloudflare nor with Upstash.** The tests run it in workerd, with a front over a real Redis.
 *
 * ```sh
 * npx wrangler secret put UPSTASH_REDIS_REST_TOKEN
 * npx wrangler dev
 * curl http://localhost:8787/2026-01-31
 * ```
 *
 * @module
 */
import { acquire, type Lock, LockTimeoutError } from "@holdfast/lock";
import { upstash, type UpstashClient } from "@holdfast/lock/upstash";

/** The variable and the secret that `wrangler.jsonc` names. */
interface Env {
  readonly UPSTASH_REDIS_REST_URL: string;
  readonly UPSTASH_REDIS_REST_TOKEN: string;
}

/** What is needed of the context of a request. */
interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function write(day: string, client: UpstashClient, lock: Lock): Promise<string> {
  const text = `The report of ${day}, written under fence ${lock.fence}\n`;
  await delay(200); // ask other services
  lock.signal.throwIfAborted();
  await client.postCommand("SET", `example:reports:${day}`, text, "NX", "EX", "86400");
  return text;
}

export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    const [, day] = /^\/(\d{4}-\d\d-\d\d)$/.exec(new URL(request.url).pathname) ?? [];
    if (day === undefined) return new Response("ask for /YYYY-MM-DD\n", { status: 404 });
    // A client for each request: what it waits for belongs to the request that waits. There is nothing to close.
    const client = upstash({ url: env.UPSTASH_REDIS_REST_URL, token: env.UPSTASH_REDIS_REST_TOKEN });
    const read = async () => await client.postCommand("GET", `example:reports:${day}`) as string | null;
    const known = await read();
    if (known !== null) return new Response(known);
    try {
      await using lock = await acquire(client, `report:${day}`, { lease: 10_000, wait: 5_000, signal: request.signal });
      // Somebody else may have written it meanwhile.
      return new Response(await read() ?? await write(day, client, lock));
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      // It leaves the queue in the background, which would end with the response.
      context.waitUntil(delay(1_000));
      return new Response("it is being written\n", { status: 503, headers: { "retry-after": "2" } });
    }
  },
};
