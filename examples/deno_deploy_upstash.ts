/**
 * A program for Deno Deploy with locks in a database of Upstash, over HTTP: however many requests ask for a report at
 * once, on whatever instance, one of them writes it.
 *
 * **It was tried neither on Deno Deploy nor with Upstash.** The tests run it with a front over a real Redis.
 *
 * ```sh
 * deno run --allow-net --allow-env examples/deno_deploy_upstash.ts
 * curl http://127.0.0.1:8000/2026-01-31
 * ```
 *
 * The environment has `UPSTASH_REDIS_REST_URL` and `UPSTASH_REDIS_REST_TOKEN`; the argument is the port.
 *
 * @module
 */
import { acquire, type Lock, LockTimeoutError } from "@holdfast/lock";
import { upstash } from "@holdfast/lock/upstash";
import { setTimeout as delay } from "node:timers/promises";

const [port = "8000"] = Deno.args;
const client = upstash({
  url: Deno.env.get("UPSTASH_REDIS_REST_URL")!,
  token: Deno.env.get("UPSTASH_REDIS_REST_TOKEN")!,
});

async function write(day: string, lock: Lock): Promise<string> {
  const text = `The report of ${day}, written under fence ${lock.fence}\n`;
  await delay(200, undefined, { signal: lock.signal }); // ask other services
  await client.postCommand("SET", `example:reports:${day}`, text, "NX", "EX", "86400");
  return text;
}

async function handle(request: Request): Promise<Response> {
  const [, day] = /^\/(\d{4}-\d\d-\d\d)$/.exec(new URL(request.url).pathname) ?? [];
  if (day === undefined) return new Response("ask for /YYYY-MM-DD\n", { status: 404 });
  const read = async () => await client.postCommand("GET", `example:reports:${day}`) as string | null;
  try {
    const known = await read();
    if (known !== null) return new Response(known);
    // Held within one request: an instance may be stopped after the response.
    await using lock = await acquire(client, `report:${day}`, { lease: 10_000, wait: 5_000, signal: request.signal });
    // Somebody else may have written it meanwhile.
    return new Response(await read() ?? await write(day, lock));
  } catch (error) {
    if (!(error instanceof LockTimeoutError)) throw error;
    return new Response("it is being written\n", { status: 503, headers: { "retry-after": "2" } });
  }
}

const server = Deno.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  onListen: ({ port }) => console.log(`listening on http://127.0.0.1:${port}`),
}, handle);
await server.finished;
