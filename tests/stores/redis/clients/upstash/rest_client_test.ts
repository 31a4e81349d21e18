// Deno only: it starts a front of HTTP.
import { acquire, LockTimeoutError, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { upstash } from "@holdfast/lock/upstash";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Wakeups } from "../../../../../src/stores/redis/wakeups/wakeups.ts";
import { ask, claimOf, grant } from "../../../../support/claims.ts";
import { freePort } from "../../../../support/free_port.ts";
import { RedisServer } from "../../../../support/redis_server.ts";
import { RestFront } from "../../../../support/rest_front.ts";
import { serverStore } from "../../../../support/server_store.ts";
import { standStill } from "../../../../support/stand_still.ts";
import { until } from "../../../../support/until.ts";
import { refused } from "../../../../support/refused.ts";

const TRY = { enqueue: false };

/** A Redis server with a front before it. */
async function withFront(run: (front: RestFront, server: RedisServer) => Promise<void>): Promise<void> {
  await using server = await RedisServer.start();
  await using front = new RestFront(server.port);
  await run(front, server);
}

function test(name: string, run: (front: RestFront, server: RedisServer) => Promise<void>): void {
  Deno.test(name, () => withFront(run));
}

/** Holds back the next request, and no other one, until it is to arrive. */
function holdBack(front: RestFront): Record<"held" | "arrive", PromiseWithResolvers<void>> {
  const [held, arrive] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  front.answering = async (_, run) => {
    front.answering = (_, run) => run();
    held.resolve();
    await arrive.promise;
    return await run();
  };
  return { held, arrive };
}

test("upstash() sends one request for each attempt, renewal and release", async (front, server) => {
  const client = upstash(front.options);
  await (await acquire(client, "a")).release(); // The server knows the scripts from now on, but for that of the renewal.
  await using held = await acquire(client, "b");
  await held.extend();
  front.commands.length = 0;
  await using lock = await acquire(client, "a");
  await lock.extend();
  await lock.release();
  assertEquals(front.commands.map(([command]) => command), ["EVALSHA", "EVALSHA", "EVALSHA"]);
  await held.release();
  assertEquals(await server.leftovers(), []);
});

test("upstash() reads an answer that came while its process stood still", async (front) => {
  const client = upstash(front.options);
  await using _lock = await acquire(client, "a");
  const { held, arrive } = holdBack(front);
  const attempt = tryAcquire(client, "a");
  await held.promise;
  arrive.resolve();
  standStill(6_500);
  assertEquals(await attempt, null);
});

test("upstash() sends a script by its text when the server does not know it", async (front, server) => {
  const client = upstash(front.options);
  for (const commands of [["EVALSHA", "EVAL"], ["EVALSHA"]]) {
    const lock = await tryAcquire(client, "a");
    assertEquals(front.commands.map(([command]) => command), commands);
    await lock?.release();
    front.commands.length = 0;
  }
  await server.command("SCRIPT", "FLUSH");
  await (await acquire(client, "a")).release();
  assertEquals(front.commands.map(([command]) => command), ["EVALSHA", "EVAL", "EVALSHA", "EVAL"]);
});

test("upstash() reads numbers above 2^53 exactly, and leaves texts as they are", async (front) => {
  const client = upstash(front.options);
  await client.postCommand("SET", "n", "9007199254740992");
  assertEquals(await client.postCommand("INCRBY", "n", "1"), "9007199254740993");
  for (const text of ['"1", \\" -2 \\', "7", "\u0000\u2028{1:2}", "9007199254740993", ""]) {
    assertEquals(await client.postCommand("ECHO", text), text);
  }
  assertEquals(await client.postCommand("EVAL", "return {-1, {2, 'x3'}, false}", "0"), ["-1", ["2", "x3"], null]);
});

test("upstash() issues fences near 2^53 exactly", async (front, server) => {
  await server.command("SET", "{lock:a}:fence", `${2 ** 53 - 3}`);
  const client = upstash(front.options);
  for (const fence of [2n ** 53n - 2n, 2n ** 53n - 1n]) {
    await using lock = await acquire(client, "a");
    assertEquals(lock.fence, fence);
  }
});

test("acquire() over upstash() rejects a wrong token at once, and holds nothing", async (front, server) => {
  const client = upstash({ url: front.url, token: "wrong-secret" });
  const error = await assertRejects(
    () => acquire(client, "a"),
    StoreError,
    `${front.url} refuses the token: WRONGPASS`,
  );
  assert(error.permanent && !error.message.includes("wrong-secret"), `${error}`);
  assertEquals(await server.leftovers(), []);
});

test("acquire() over upstash() rejects at once what does not speak the protocol", async (front, server) => {
  const answers: [body: string, status: number][] = [
    ["<html>It works!</html>", 200],
    ["<html>Not found</html>", 404],
    ['{"hello":"world"}', 200],
    ["[1, 2]", 200],
    ["null", 200],
  ];
  for (const [body, status] of answers) {
    front.answering = () => new Response(body, { status });
    await refused(
      () => acquire(upstash(front.options), "a"),
      `does not answer as the REST API of Upstash does: ${status} "${body}"`,
    );
  }
  assertEquals(await server.leftovers(), []);
});

Deno.test("upstash() reads at once that an answer is cut off", async () => {
  for (const cut of ["a", '\\"']) {
    const fetch = () => Promise.resolve(new Response(`{"result":"${cut.repeat(200_000)}`));
    const client = upstash({ url: "https://db.example.com", token: "secret", fetch });
    const error = await assertRejects(() => client.postCommand("GET", "a"), Error, "does not answer as");
    // The command was run.
    assert(!(error instanceof StoreError));
  }
});

Deno.test("upstash() quotes no more than a line of a page in the place of an event stream", async () => {
  const fetch = () => Promise.resolve(new Response(`\n${"<html>".repeat(1_000)}\nsecond`, { status: 502 }));
  const client = upstash({ url: "https://db.example.com", token: "secret", fetch });
  const events = client.events!("a", new AbortController().signal)[Symbol.asyncIterator]();
  const { message } = await assertRejects(() => events.next(), Error, "there is no event stream");
  assert(message.length < 300 && message.endsWith("<html><h"), message);
});

Deno.test("upstash() reads an event stream whose lines end with CR LF", async () => {
  const fetch = () => Promise.resolve(new Response("data: a\r\n\r\ndata: b\n"));
  const client = upstash({ url: "https://db.example.com", token: "secret", fetch });
  assertEquals(await Array.fromAsync(client.events!("a", new AbortController().signal)), ["data: a", "", "data: b"]);
});

test("acquire() over upstash() rejects a URL that has no database", async (front, server) => {
  const client = upstash({ ...front.options, url: `${front.url}/database` });
  await refused(() => acquire(client, "a"), "UPSTASH_REDIS_REST_URL of the database?");
  assertEquals(await server.leftovers(), []);
});

test("attempt() over upstash() rejects with the address where no HTTP is spoken", async (_, server) => {
  const client = upstash({ url: `http://127.0.0.1:${server.port}`, token: "t" });
  const error = await assertRejects(() => serverStore(client).attempt(claimOf("a"), TRY), Error, client.url);
  // It may be a proxy that starts.
  assert(!(error instanceof StoreError), `${error}`);
  assertEquals(await server.leftovers(), []);
});

test("upstash() follows no redirection, which would get the token", async (front) => {
  const asked: Request[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using elsewhere = Deno.serve(options, (request) => {
    asked.push(request);
    return Response.json({ result: "1" });
  });
  front.answering = () => Response.redirect(`http://127.0.0.1:${elsewhere.addr.port}/`, 307);
  await assertRejects(() => acquire(upstash(front.options), "a"), StoreError, "does not answer as");
  assertEquals(asked, []);
});

test("attempt() over upstash() tells what was refused from what may have been done", async (front) => {
  const store = serverStore(upstash(front.options));
  const attempt = () => store.attempt(claimOf("a"), TRY);
  const refused = { error: "ERR max daily request limit exceeded" };
  front.answering = () => Response.json(refused, { status: 429 });
  assertEquals((await assertRejects(attempt, StoreError, "ERR max daily request limit")).permanent, false);
  const unknown = [
    () => new Response("<html>Bad gateway</html>", { status: 502 }),
    () => new Response("slow down", { status: 429 }),
    // A proxy does not wait any longer for the database, which does what it was told.
    () => new Response("Request Timeout", { status: 408 }),
    () => Response.json({ error: "ERR internal" }, { status: 500 }),
    // Answers that were cut.
    () => new Response(""),
    () => new Response('{"result":[1,'),
  ];
  for (const answering of unknown) {
    front.answering = answering;
    const error = await assertRejects(attempt, Error, "does not answer as");
    assert(!(error instanceof StoreError), `${error}`);
    assert(store.connectionError !== undefined, "it is known why");
  }
  front.answering = (_, run) => run();
  await store.release({ ...claimOf("a") });
  assertEquals(store.connectionError, undefined);
});

Deno.test("attempt() over upstash() rejects with the address where nobody listens", async () => {
  const url = `http://127.0.0.1:${freePort()}`;
  const error = await assertRejects(
    () => serverStore(upstash({ url, token: "t" })).attempt(claimOf("a"), TRY),
    Error,
    url,
  );
  assert(!(error instanceof StoreError), `${error}`);
});

Deno.test({
  name: "acquire() over upstash() rejects at once where Deno denies the network",
  permissions: { net: false },
  fn: async () => {
    const client = upstash({ url: "http://127.0.0.1:9999", token: "t" });
    await refused(() => acquire(client, "a"), "net access");
  },
});

test("acquire() over upstash() gets the lock when the reply of its attempt is lost", async (front, server) => {
  let lost = 0;
  front.answering = async (words, run) => {
    const answer = await run();
    if (lost > 0 || !words[0]!.startsWith("EVAL") || answer.status !== 200) return answer;
    lost++;
    await answer.body?.cancel();
    return new Response("", { status: 504 });
  };
  const client = upstash(front.options);
  await using lock = await acquire(client, "a");
  assertEquals([lost, Wakeups.of(client).port.connection.cuts], [1, 1]);
  await lock.release();
  assertEquals(await server.leftovers(), []);
});

test("an attempt over upstash() that comes after its release ends with its lease", async (front, server) => {
  const store = serverStore(upstash(front.options));
  await grant(store, claimOf("b")); // The server knows the script from now on.
  const claim = claimOf("a", "exclusive", 500);
  const { held, arrive } = holdBack(front);
  const late = store.attempt(claim, TRY);
  await held.promise;
  assertEquals(await store.release(claim), false);
  arrive.resolve();
  assert((await late).granted, "it is granted late");
  await until(async () => !(await server.leftovers()).includes("lock:a"), "the lease ends");
  await grant(store, claimOf("a"));
});

test("a renewal over upstash() that comes after the release acquires nothing", async (front, server) => {
  const store = serverStore(upstash(front.options));
  const claim = claimOf("a");
  await grant(store, claim);
  await store.renew(claim);
  const { held, arrive } = holdBack(front);
  const late = store.renew(claim);
  await held.promise;
  assertEquals(await store.release(claim), true);
  arrive.resolve();
  assertEquals(await late, "lost");
  assertEquals(await server.leftovers(), []);
});

test("upstash() ends a request that is not answered, and leaves no timer", async (front) => {
  const { arrive } = holdBack(front);
  const client = upstash({ ...front.options, fetch: (url, request) => fetch(url, request) });
  await assertRejects(() => client.postCommand("PING"), Error, `${front.url} did not answer within 5000 ms`);
  arrive.resolve();
});

test("waiters over upstash() without a stream ask within a third of a reservation", async (front) => {
  const { url, postCommand } = upstash(front.options);
  const store = serverStore({ url, postCommand });
  await grant(store, claimOf("a"));
  const asked = [];
  for (const lease of [60_000, 900, 100]) asked.push(Math.round(await ask(store, claimOf("a", "exclusive", lease))));
  assertEquals(asked, [500, 300, 83]);
});

test("acquire() over upstash() waits in the queue, and gives up its place", async (front, server) => {
  const [client, other] = [upstash(front.options), upstash(front.options)];
  const holder = await acquire(client, "a");
  await assertRejects(() => acquire(other, "a", { wait: 300 }), LockTimeoutError);
  const waiting = acquire(other, "a");
  await until(async () => await server.command("ZCARD", "{lock:a}:queue") === 1, "it is queued");
  await holder.release();
  const lock = await waiting;
  assert(lock.fence > holder.fence, "the fence rises");
  await lock.release();
  assertEquals(await server.leftovers(), []);
});

test("a holder over upstash() learns at its next renewal that its lock was taken away", async (front) => {
  const client = upstash(front.options);
  const lock = await acquire(client, "a", { lease: 60_000, renew: 200 });
  const { signal } = lock;
  assertEquals(await redis(upstash(front.options)).evict("a"), 1);
  await until(() => signal.aborted, "the signal aborts");
  assertEquals(lock.held, false);
});

test("acquire() takes a quorum of clients of upstash() and ioredis", async (front, server) => {
  await using second = await RedisServer.start();
  await using third = await RedisServer.start();
  const clients = [upstash(front.options), second.connect(), third.connect()];
  {
    await using lock = await acquire(clients, "a");
    assert(lock.held, "held");
    await until(async () => (await server.leftovers()).includes("lock:a"), "there too");
  }
  await until(async () => (await server.leftovers()).length === 0, "nothing is left");
});

test("redis() over upstash() has a prefix, and no replicas", async (front, server) => {
  const client = upstash(front.options);
  await using _lock = await acquire(redis(client, { prefix: "billing:" }), "a");
  assert((await server.leftovers()).includes("billing:a"), "under its prefix");
  assertThrows(() => redis(client, { replicas: { min: 1 } }), TypeError, "replicas needs a client");
});

test("acquire() and redis() say what to write instead of a client of @upstash/redis", async () => {
  const method = () => Promise.resolve(null);
  const client = { evalsha: method, eval: method, set: method, pipeline: method };
  const line = "upstash({ url, token }) of @holdfast/lock/upstash";
  await assertRejects(() => acquire(client as never, "a"), TypeError, line);
  assertThrows(() => redis(client as never), TypeError, line);
});
