import { assert, assertEquals } from "@std/assert";
import { ABANDONED, ask, claimOf, testOnSite } from "./site.ts";

testOnSite("query() lists holders and waiters of all processes, in order", async (site) => {
  const holders = [
    claimOf({ name: "b", owner: "1", mode: "shared" }),
    claimOf({ name: "b", owner: "2", mode: "shared" }),
    claimOf({ name: "a", owner: "3", permits: 2 }),
    claimOf({ name: "c", owner: "4" }),
  ];
  const waiters = ["6", "5", "7"].map((owner) => claimOf({ name: "c", owner, mode: "shared" }));
  const gone = [claimOf({ name: "d", lease: 100 }), claimOf({ name: "d" })];
  for (const claim of gone) await ask(site.b, claim);
  await site.clock.advance(ABANDONED);
  for (const claim of [...holders, ...waiters]) await ask(site.b, claim);
  assertEquals(await site.a.query(), {
    held: holders.map(({ name, owner, mode, permits }) => ({ name, owner, mode, permits })),
    pending: waiters.map(({ name, owner, mode, permits }) => ({ name, owner, mode, permits })),
  });
  for (const claim of [...holders, ...waiters, ...gone]) await site.a.release(claim);
  assertEquals(await site.b.query(), { held: [], pending: [] });
});

testOnSite("query() lists every name whole, and each is a lock of its own", async (site) => {
  const names = ["a", "A", "a\0", "a\0b", "a\0c", "a ", "a  ", " a", "\u00e9", "e\u0301", "\ufeffa", "x".repeat(1_024)];
  const claims = names.map((name) => claimOf({ name, owner: `${name}\0owner` }));
  for (const claim of claims) assertEquals(await ask(site.a, claim), true);
  const waiters = names.map((name) => claimOf({ name, owner: `${name}\0waiter`, handle: `${name}\0waiter/1` }));
  for (const claim of waiters) assertEquals(await ask(site.b, claim), false);
  const { held, pending } = await site.b.query();
  const text = ({ name, owner }: { name: string; owner: string }) => JSON.stringify([name, owner]);
  assertEquals(held.map(text), claims.map(text));
  assertEquals(pending.map(text), waiters.map(text));
  for (const claim of [...claims, ...waiters]) assert(await site.a.release(claim));
});
