import { assert, assertEquals } from "@std/assert";
import { acquire, type AcquireOptions, type LockEvent } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import type { Redis } from "ioredis";
import { POLL_MS } from "../../../src/stores/redis/constants.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { until } from "../../support/until.ts";
import { warningsOf } from "../../support/warnings.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { connectAs, RULE } from "./rights.ts";
import { reservingForLong } from "./long_reservations.ts";
import { testClean } from "./on_server.ts";

/** All rights but those to the channels of the wake-ups. */
const DEAF = [...RULE.keys, "resetchannels", ...RULE.client, ...RULE.scripts];

Deno.test("release() serves waiters whose user may not use the channels", async () => {
  await using first = await RedisServer.start();
  await using second = await RedisServer.start();
  await using third = await RedisServer.start();
  const servers = [first, second, third];
  const clients = await Promise.all(servers.map((server) => connectAs(server, server.connect(), "deaf", DEAF)));
  const [client] = clients as [Redis, ...Redis[]];
  const [, queue] = lockKeys("lock:a");
  const kinds: AcquireOptions[] = [{}, { mode: "shared" }, { permits: 1 }, { owner: "me" }];
  for (const [target, some] of [[client, kinds], [redlock(clients), kinds.slice(0, 2)]] as const) {
    for (const kind of some) {
      const holder = await acquire(target, "a", { permits: kind.permits, lease: LONG });
      const waiting = [0, 1].map(() => acquire(target, "a", { ...kind, lease: LONG }).then((lock) => lock.release()));
      await until(async () => {
        const queued = await Promise.all(servers.map((server) => server.command("ZCARD", queue)));
        return queued.includes(2);
      }, "both are queued");
      await holder.release();
      await Promise.all(waiting);
    }
  }
  for (const server of servers) await until(async () => (await server.leftovers()).length === 0, "nothing is left");
});

/** Why a server sends no message, and what a warning says of it. */
const SILENT: Readonly<Record<string, [settings: string[], rule: string[], says: string]>> = {
  "the channels": [[], ["resetchannels"], 'may not use the channels of the wake-ups; "ACL SETUSER app &holdfast:*"'],
  "PUBLISH": [[], ["&holdfast:*", "-publish"], 'may not run the commands of the scripts; "ACL SETUSER app +'],
  "a server that has it": [["--rename-command", "PUBLISH", ""], ["&holdfast:*"], "the server lacks a command"],
};

for (const [what, [settings, rule, says]] of Object.entries(SILENT)) {
  Deno.test(`release(), steal and evict() without ${what} work, and warn once`, async () => {
    await using server = await RedisServer.start(settings);
    const admin = server.connect();
    const warnings: string[] = [];
    const observer = (event: LockEvent) => void (event.type === "warning" && warnings.push(event.message));
    const rights = ["~*", "resetchannels", "+@all", ...rule];
    const client = reservingForLong(await connectAs(server, admin, "app", rights));
    const other = redis(server.connect());
    for (const end of ["release", "steal", "evict", "nobody waits"]) {
      const store = redis(client, { observer });
      const [held, waiter, thief] = [claimOf("a"), claimOf("a"), claimOf("a")];
      await grant(store, held);
      if (end !== "nobody waits") await ask(other, waiter);
      if (end === "steal") await grant(store, thief, { steal: true });
      if (end === "evict") assertEquals(await store.evict("a"), 1);
      // A user who has no channels is told of its own subscription, which only waiters need: nobody here.
      assertEquals(await store.release(end === "steal" ? thief : held), end !== "evict");
      assert(await other.release(waiter) === (end !== "nobody waits"), end);
      await grant(store, held);
      await store.release(held);
      const told = warnings.splice(0);
      assertEquals(told.length, end === "nobody waits" ? 0 : 1, `${end}: ${told}`);
      assert(told.every((each) => each.includes("refuses to notify them") && each.includes(says)), told[0]);
    }
    assertEquals(await server.leftovers(), []);
  });
}

testClean("evict() without PUBLISH warns the process, if there is no observer", async ({ server }) => {
  const client = await connectAs(server, server.connect(), "evictor", ["~*", "&holdfast:*", "+@all", "-publish"]);
  const [held, waiter, store] = [claimOf("a"), claimOf("a"), redis(server.connect())];
  await grant(store, held);
  await ask(store, waiter);
  const warnings = await warningsOf(() => redis(client).evict("a"));
  assert(warnings.some((each) => each.includes('the user "evictor" may not run')), `${warnings}`);
  await store.release(waiter);
});

testClean("release(), evict() and steal work for a user without the channels", async ({ server }) => {
  const admin = server.connect();
  const store = redis(reservingForLong(await connectAs(server, admin, "deaf", DEAF)));
  const mine = () => claimOf("a", "exclusive", LONG, "me");
  // A process of a user with all rights waits: it is reached, but this one may not write to it.
  const client = reservingForLong(server.connect());
  await subscribed(client);
  for (const distant of [store, redis(client)]) {
    const [first, second, thief] = [claimOf("a"), claimOf("a", "shared"), claimOf("a")];
    const [waiter, again] = [claimOf("a"), claimOf("a")];
    await grant(store, first);
    for (const claim of [waiter, second, again]) await ask(distant, claim);
    assert(await store.release(first), "released");
    assertEquals(await admin.get("lock:a"), waiter.owner, "it is kept for the waiter");
    await grant(distant, waiter);
    assertEquals(await store.renew({ ...waiter, lease: POLL_MS - 100, renewal: 1 }), "renewed");
    assertEquals(await store.evict("a"), 1);
    await grant(distant, second);
    await grant(store, thief, { steal: true });
    assert(await store.release(thief), "released");
    await grant(distant, again);
    assert(await store.release(again), "released");
    const owners = [mine(), mine()] as const;
    await grant(store, first);
    for (const claim of owners) await ask(distant, claim);
    assert(await store.release(first), "released");
    for (const claim of owners) await grant(distant, claim);
    for (const claim of owners) assert(await store.release(claim), "released");
  }
});
