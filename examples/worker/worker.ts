/**
 * A Cloudflare Worker that writes a report when it is asked for one that does not exist. However many requests come at
 * once, wherever, one writes it, and the others wait for it.
 *
 * The locks are Durable Objects: `wrangler.jsonc` names their class, which this file exports.
 *
 * ```sh
 * npx wrangler dev
 * curl http://localhost:8787/2026-01-31
 * ```
 *
 * @module
 */
import { acquire, type Lock, LockTimeoutError } from "@holdfast/lock";
import { durableObject, type LockNamespace } from "@holdfast/lock/durable-object";

export { LockObject } from "@holdfast/lock/durable-object";

/** What is needed of an R2 bucket. */
interface Bucket {
  get(key: string): Promise<{ text(): Promise<string> } | null>;
  put(key: string, text: string, options: { customMetadata: Record<string, string> }): Promise<unknown>;
}

/** The bindings in `wrangler.jsonc`. */
interface Env {
  readonly LOCKS: LockNamespace;
  readonly REPORTS: Bucket;
}

async function write(day: string, { REPORTS }: Env, lock: Lock): Promise<string> {
  const text = `The report of ${day}, written under fence ${lock.fence}\n`;
  await new Promise((resolve) => setTimeout(resolve, 200)); // ask other services
  lock.signal.throwIfAborted();
  await REPORTS.put(day, text, { customMetadata: { fence: `${lock.fence}` } });
  return text;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [, day] = /^\/(\d{4}-\d\d-\d\d)$/.exec(new URL(request.url).pathname) ?? [];
    if (day === undefined) return new Response("ask for /YYYY-MM-DD\n", { status: 404 });
    const read = async () => await (await env.REPORTS.get(day))?.text();
    const known = await read();
    if (known !== undefined) return new Response(known);
    try {
      // A store for each request: what waits for a lock belongs to the request that waits.
      const store = durableObject(env.LOCKS);
      await using lock = await acquire(store, `report:${day}`, { lease: 10_000, wait: 2_000, signal: request.signal });
      // Somebody else may have written it meanwhile.
      return new Response(await read() ?? await write(day, env, lock));
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      return new Response("it is being written\n", { status: 503, headers: { "retry-after": "2" } });
    }
  },
};
