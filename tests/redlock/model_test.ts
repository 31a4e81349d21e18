// Deno only: it takes long, and compares the stores with each other.
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import type { QuorumNode } from "../../src/contract/quorum_node.ts";
import { RedisServer } from "../support/redis_server.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { serverStore } from "../support/server_store.ts";

/** What is done to one of two locks of a node by an owner, or to both. */
type Step = { readonly lock: string } & Doing;
type Doing =
  | { readonly does: "vote" | "confirm"; readonly owner: string; readonly number: number; readonly fences: number }
  | { readonly does: "retake"; readonly owner: string; readonly number: number; readonly counter: number }
  | { readonly does: "renew" | "release" | "inspect"; readonly owner: string }
  | { readonly does: "expire" };

const LEASE = 60_000;

const owner = fc.constantFrom("a", "b", "c");
const number = fc.integer({ min: 1, max: 12 });
const fences = fc.constantFrom(1, 1, 2, 4);
const doing: fc.Arbitrary<Doing> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant("vote"), owner, number, fences }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("confirm"), owner, number, fences }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("retake"), owner, number, counter: fc.nat({ max: 12 }) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constantFrom("renew", "release", "inspect"), owner }) },
  { weight: 1, arbitrary: fc.constant({ does: "expire" }) },
) as fc.Arbitrary<Doing>;
const step: fc.Arbitrary<Step> = fc.tuple(fc.constantFrom("a", "b"), doing).map(([lock, doing]) => ({
  lock,
  ...doing,
}));

Deno.test("MemoryStore answers as a quorum node what the scripts answer on a server", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const real = serverStore(client);
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const name = `run ${runs++}`;
      const clock = new VirtualClock();
      const model = new MemoryStore(undefined, clock);
      const onModel = (step: Step) => take(model, name, step, () => clock.advance(LEASE));
      const keys = ["a", "b"].map((lock) => `lock:${name}${lock}`);
      const onServer = (step: Step) => take(real, name, step, () => client.del(...keys));
      for (const step of steps) assertEquals(await onModel(step), await onServer(step), JSON.stringify(step));
    }),
    { numRuns: 2_500 },
  );
});

async function take(node: QuorumNode, name: string, step: Step, expire: () => Promise<unknown>): Promise<unknown> {
  if (step.does === "expire") return void await expire();
  const claim = { name: name + step.lock, owner: step.owner, mode: "exclusive" as const, lease: LEASE };
  switch (step.does) {
    case "vote": {
      const options = { enqueue: false, guess: BigInt(step.number), end: endOf(step), maxClockSkew: 0 };
      const vote = await node.vote(claim, options);
      return vote.granted ? vote : vote.granted;
    }
    case "confirm":
      return await node.confirm(claim, BigInt(step.number), endOf(step));
    case "retake":
      return await node.retake(claim, BigInt(step.number), BigInt(step.counter));
    case "inspect":
      return await node.inspect(claim);
    case "renew":
      return await node.renew(claim);
    case "release":
      return await node.release(claim);
  }
}

function endOf({ number, fences }: { readonly number: number; readonly fences: number }): bigint {
  return BigInt(number + fences - 1);
}
