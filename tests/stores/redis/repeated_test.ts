// Deno only: it starts a server, and a front of HTTP whose requests Deno's fetch repeats.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { upstash } from "@holdfast/lock/upstash";
import { claimOf, grant, LONG } from "../../support/claims.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { RestFront } from "../../support/rest_front.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";

const STEAL = { enqueue: false, steal: true };

/** A server behind a front that repeats the next command for which that is asked, and gives the second reply. */
class Place implements AsyncDisposable {
  readonly server: RedisServer;
  readonly front: RestFront;

  private constructor(server: RedisServer) {
    this.server = server;
    this.front = new RestFront(server.port);
  }

  static async start(): Promise<Place> {
    return new Place(await RedisServer.start());
  }

  store(options: { readonly prefix?: string } = {}) {
    return redis(upstash(this.front.options), options);
  }

  /**
   * Repeats the next command that has an argument, once `between` has resolved. Until a script is loaded it is not
   * executed.
   */
  repeat(argument: string | RegExp, between: () => Promise<unknown> = () => Promise.resolve()): void {
    this.front.answering = async (words, run) => {
      const isMeant = words[0]!.startsWith("EVAL") && words.slice(2).some((word) => {
        return typeof argument === "string" ? word === argument : argument.test(word);
      });
      if (!isMeant) return await run();
      const first = await run();
      if ((await first.clone().text()).includes("NOSCRIPT")) return first;
      this.front.answering = (_, run) => run();
      await between();
      return await run();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.front.close();
    await this.server[Symbol.asyncDispose]();
  }
}

Deno.test("release() that is repeated over HTTP has released the lock", async () => {
  await using place = await Place.start();
  const store = place.store();
  for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", 3), claimOf("a", "exclusive", LONG, "o")]) {
    await grant(store, claim);
    const next = claimOf("a");
    place.repeat(claim.handle ?? claim.owner, () => grant(store, next));
    assertEquals(await store.release(claim), true);
    assertEquals(await store.renew(next), "renewed");
    await store.release(next);
  }
  assertEquals(await place.server.leftovers(), []);
});

Deno.test("release() that is repeated over HTTP finds no lock that was revoked", async () => {
  await using place = await Place.start();
  const store = place.store();
  const claim = claimOf("a");
  await grant(store, claim);
  await store.evict("a");
  place.repeat(claim.owner);
  assertEquals(await store.release(claim), false);
});

Deno.test("evict() that is repeated over HTTP evicts nobody who came after it", async () => {
  await using place = await Place.start();
  const store = place.store();
  for (const claim of [claimOf("a", "shared"), claimOf("a", "shared")]) await grant(store, claim);
  const next = claimOf("a");
  // The command that names those who are meant has their digests.
  place.repeat(/^[0-9a-f]{40}$/, () => grant(store, next));
  assertEquals(await store.evict("a"), 2);
  assertEquals(await store.renew(next), "renewed");
});

Deno.test("attempt() with steal that is repeated over HTTP steals from nobody after it", async () => {
  await using place = await Place.start();
  const store = place.store();
  const [held, thief, next] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await grant(store, held);
  let later = 0n;
  // The first command finds out from whom to steal.
  place.repeat(thief.owner, () => {
    place.repeat(thief.owner, async () => {
      const attempt = await store.attempt(next, STEAL);
      assert(attempt.granted);
      later = attempt.fence;
    });
    return Promise.resolve();
  });
  const attempt = await store.attempt(thief, STEAL);
  assert(attempt.granted && attempt.fence < later);
  assertEquals([await store.renew(thief), await store.renew(next)], ["lost", "renewed"]);
});

Deno.test("release() forgets its replies, which no listing has", async () => {
  await using place = await Place.start();
  const store = place.store({ prefix: "" });
  const claim = claimOf("a");
  await grant(store, claim);
  await store.release(claim);
  const client = place.server.connect();
  const left = await client.pttl("{a}:calls");
  assert(left > 0 && left <= 5_000, `${left} ms`);
  assertEquals(await store.query!(), { held: [], pending: [] });
  for (let i = 0; i < 300; i++) await client.append("{a}:calls", `\n${i} [1234567890]`);
  await grant(store, claim);
  await store.release(claim);
  assertEquals((await client.get("{a}:calls"))!.length, 4_000);
});

Deno.test("acquire() over HTTP loses no lock when a connection is cut behind its release", async () => {
  await using place = await Place.start();
  const proxy = await TcpProxy.start(place.front.port);
  try {
    const store = redis(upstash({ ...place.front.options, url: `http://127.0.0.1:${proxy.port}` }));
    for (let i = 0; i < 5; i++) {
      const lock = await acquire(store, "a", { renew: false });
      const lost = proxy.loseReply("POST");
      await lock.release();
      await lost;
    }
  } finally {
    await proxy[Symbol.asyncDispose]();
  }
});
