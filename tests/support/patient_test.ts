import { assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { storeSuite } from "@holdfast/testing";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { patient } from "./patient.ts";

for (const [how, options] of Object.entries({ "release()": {}, "atLeast": { atLeast: 20, lease: 60_000 } })) {
  Deno.test(`patient() leaves it to acquire() what a lost answer to its ${how} means`, async () => {
    const store = memory();
    const ended: string[] = [];
    /** Keeps back the first answer until the lock has gone. */
    const losing = async <T>(what: string, done: Promise<T>): Promise<T> => {
      const answer = await done;
      if (ended.push(what) > 1) return answer;
      while ((await store.query()).held.length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      throw new Error(`no answer to a ${what} within 1 ms`);
    };
    const [renew, release] = [store.renew.bind(store), store.release.bind(store)];
    store.renew = (claim) => losing("renewal", renew(claim));
    store.release = (claim) => losing("release", release(claim));
    await (await acquire(patient(store), "a", options)).release();
    assertEquals(ended.length >= 2, true);
  });
}

Deno.test("patient() takes a lock that an unanswered try may have released for released", async () => {
  const store = memory();
  const [attempt, release] = [store.attempt.bind(store), store.release.bind(store)];
  let tries = 0;
  store.release = async (claim) => {
    const released = await release(claim);
    if (tries++ === 0) throw new Error("no answer to a write within 2000 ms");
    return released;
  };
  const claim = { name: "a", owner: "b", mode: "exclusive", lease: 60_000 } as const;
  await attempt(claim, { enqueue: false });
  assertEquals([await patient(store).release(claim), tries], [true, 2]);
  assertEquals([await patient(store).release(claim), tries], [false, 3]);
});

const RUN = "attempt() gets the lock once the lease of a run has ended, above its fences";

storeSuite({
  test: (name, run) => {
    if (name === RUN) Deno.test("patient() lets the suite try again when the answer with a run was lost", run);
  },
  open: () => {
    const store = new MemoryStore(undefined, new SystemClock());
    const attempt = store.attempt.bind(store);
    let lost = 0;
    store.attempt = async (claim, options) => {
      const answer = await attempt(claim, options);
      if (!answer.granted || claim.group === undefined || lost++ > 0) return answer;
      throw new Error("no answer to a write within 67 ms");
    };
    const connected = patient(store);
    return { connect: () => connected, close: () => {} };
  },
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
});
