// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import type { Attempt, Claim, Renewal, Store } from "../../../src/contract/store.ts";
import type { QuorumNode } from "../../../src/contract/quorum_node.ts";
import { Trace } from "./trace.ts";
import { Witness } from "./witness.ts";

const CLAIM: Claim = { name: "a", owner: "x", mode: "exclusive", lease: 1_000 };

/** Returns a store that answers when a test lets it, and whose witness has a clock that the test sets. */
function scene() {
  let time = 0;
  const attempt = Promise.withResolvers<Attempt>();
  const renewal = Promise.withResolvers<Renewal>();
  const store: Store = {
    attempt: () => attempt.promise,
    renew: () => renewal.promise,
    release: () => Promise.resolve(true),
    drift: () => 0,
  };
  const witness = new Witness(() => time);
  witness.watchHandles(witness.watch(store));
  const trace = new Trace();
  const asked = witness.run(trace, () => store.attempt(CLAIM, { enqueue: true }));
  return {
    witness,
    store,
    trace,
    set: (at: number) => time = at,
    grant: async () => {
      attempt.resolve({ granted: true, fence: 1n });
      await asked;
      assert(witness.granted(trace, CLAIM.name, 1n));
    },
    renewed: renewal.resolve,
  };
}

Deno.test("Witness counts a lease from when it was asked for, however late the answer comes", async () => {
  for (const at of [1, 900, 5_000]) {
    const { trace, set, grant } = scene();
    assertEquals(trace.deadline, -Infinity);
    set(at);
    await grant();
    assertEquals([trace.deadline, trace.lease?.late, trace.overdue], [1_000, at > 100, Math.max(0, at - 1_000)]);
  }
});

Deno.test("Witness counts a renewal from its sending, unless it is answered after the end", async () => {
  for (const [answered, deadline] of [[500, 1_400], [999, 1_400], [1_001, 1_000]] as const) {
    const { store, trace, set, grant, renewed } = scene();
    await grant();
    set(400);
    const renewing = store.renew(CLAIM);
    set(answered);
    renewed("renewed");
    await renewing;
    assertEquals(trace.deadline, deadline);
  }
});

Deno.test("Witness counts neither a refused renewal nor that of a forgotten handle", async () => {
  for (const forgotten of [true, false]) {
    const { witness, store, trace, set, grant, renewed } = scene();
    await grant();
    if (forgotten) witness.forget(trace);
    set(400);
    renewed(forgotten ? "renewed" : "lost");
    await store.renew(CLAIM);
    assertEquals(trace.deadline, 1_000);
  }
});

Deno.test("Witness knows the ids of a quorum's votes", async () => {
  const node = {
    renew: () => Promise.resolve("lost"),
    vote: () => Promise.resolve({ granted: false, retryAfter: 1 }),
  } as unknown as QuorumNode;
  const witness = new Witness(() => 0);
  witness.watchNode(node);
  const options = { enqueue: true, guess: 1n, maxClockSkew: 0 };
  const store = witness.watchHandles(witness.watch({
    attempt: async () => {
      await Promise.all(["r1", "r2"].map((owner) => node.vote({ ...CLAIM, owner }, options)));
      return { granted: true, fence: 1n };
    },
    renew: () => Promise.resolve("lost"),
    release: () => Promise.resolve(true),
    drift: () => 0,
  }));
  const trace = new Trace();
  await witness.run(trace, () => store.attempt(CLAIM, { enqueue: true }));
  assertEquals([...trace.leftovers("aborted")[0]!.ids], ["x", "r1", "r2"]);
});

Deno.test("Witness does not count what only a minority has granted or renewed", async () => {
  for (const [votes, renewals, deadline] of [[2, 2, 1_400], [2, 1, 1_000], [1, 1, 0]] as const) {
    let time = 0;
    const witness = new Witness(() => time, 3);
    const nodes = [0, 1, 2].map((place) => {
      const granted = place < votes;
      const node = {
        vote: () => Promise.resolve(granted ? { granted, counter: 1n, raised: true } : { granted, retryAfter: 1 }),
        renew: () => Promise.resolve(place < renewals ? "renewed" : "lost"),
      };
      return witness.watchNode(node as unknown as QuorumNode);
    });
    const options = { enqueue: true, guess: 1n, maxClockSkew: 0 };
    // A quorum that is content with anything.
    const store = witness.watchHandles(witness.watch({
      attempt: async (claim) => {
        await Promise.all(nodes.map((node) => node.vote(claim, options)));
        return { granted: true, fence: 1n };
      },
      renew: async (claim) => {
        await Promise.all(nodes.map((node) => node.renew(claim)));
        return "renewed";
      },
      release: () => Promise.resolve(true),
      drift: () => 0,
    }));
    const trace = new Trace();
    await witness.run(trace, () => store.attempt(CLAIM, { enqueue: true }));
    assert(witness.granted(trace, CLAIM.name, 1n));
    time = 400;
    await store.renew(CLAIM);
    assertEquals(trace.deadline, deadline);
  }
});

Deno.test("Witness notes that an attempt has failed, which may be executed late", async () => {
  const { store, witness } = scene();
  const trace = new Trace();
  const attempt = (outcome: Promise<Attempt>) => {
    store.attempt = () => outcome;
    witness.watchHandles(witness.watch(store));
    return witness.run(trace, () => store.attempt({ ...CLAIM, handle: "h" }, { enqueue: true }));
  };
  await attempt(Promise.resolve({ granted: false, retryAfter: 1 }));
  assertEquals(trace.leftovers("busy").map(({ unanswered }) => unanswered), [false]);
  await attempt(Promise.reject(new Error("timed out"))).catch(() => {});
  assertEquals(trace.leftovers("busy").map(({ unanswered }) => unanswered), [true]);
});
