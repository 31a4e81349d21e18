import { assert, assertEquals } from "@std/assert";
import { LocalWaiters } from "../../../../src/stores/sqlite/watch/local_waiters.ts";
import { settled, VirtualClock } from "../../../support/virtual_clock.ts";
import { claimOf } from "../fixture.ts";

Deno.test("LocalWaiters.idle() returns idle waiters, and forgets them after ten minutes", async () => {
  const clock = new VirtualClock();
  const waiters = new LocalWaiters(clock);
  const [gone, sleeps, asks] = [claimOf(), claimOf(), claimOf()];
  for (const [ticket, claim] of [gone, sleeps, asks].entries()) waiters.add(claim, { ticket, since: 0 });
  waiters.get(sleeps)!.wake = () => {};
  waiters.get(asks)!.attempts = 1;
  for (let i = 1; i <= 7; i++) assertEquals(waiters.idle(8), [], `${i}`);
  assertEquals(waiters.idle(8).map(({ claim }) => claim), [gone]);
  waiters.get(gone)!.state = "idle";
  assert(waiters.anyQueued, "the others have their places");
  assertEquals(waiters.idle(8), []);
  clock.stall(600_000);
  waiters.idle(8);
  assertEquals(waiters.get(gone)?.ticket, 0);
  waiters.add(gone, { ticket: 7, since: 0 });
  assertEquals([waiters.get(gone)?.ticket, waiters.get(gone)?.state], [0, "queued"], "its own place");
  waiters.get(gone)!.state = "idle";
  clock.stall(1);
  waiters.idle(8);
  assertEquals(waiters.get(gone), undefined);
  assertEquals(waiters.all.map(({ claim }) => claim), [sleeps, asks]);
  for (const claim of [sleeps, asks]) waiters.delete(claim);
  assertEquals([[...waiters.queues], waiters.anyQueued], [[], false]);
  await settled();
});

Deno.test("LocalWaiters.delete() keeps nothing of an owner's handle while others wait", () => {
  const waiters = new LocalWaiters(new VirtualClock());
  const [handle, other] = [claimOf({ handle: "me/1" }), claimOf()];
  for (const [ticket, claim] of [handle, other].entries()) waiters.add(claim, { ticket, since: 0 });
  assertEquals([...waiters.queue("name")!.owned], [waiters.get(handle)!]);
  waiters.delete(handle);
  assertEquals(waiters.queue("name")!.owned.size, 0);
  assertEquals(waiters.all.map(({ claim }) => claim), [other]);
});
