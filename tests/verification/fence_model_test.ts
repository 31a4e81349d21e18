// Deno only: it takes long, and explores a model.
import { assert, assertEquals } from "@std/assert";
import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import type { Claim } from "../../src/contract/store.ts";
import type { QuorumNode, Vote } from "../../src/contract/quorum_node.ts";
import { RedisServer } from "../support/redis_server.ts";
import { explore, type Model } from "./explore.ts";
import { assertExhausted, BLOCKS, numbered, SMALL } from "./exhausted.ts";
import { type Bounds, exploreFence, FenceModel, type Invariant, type State } from "./fence_model.ts";
import { type Block, confirm, type Node, type Rules, vote, YES } from "./fence_node.ts";
import { serverStore } from "../support/server_store.ts";

/** What looks right and is not, and the invariants that it breaks. */
const FLAWS: { what: string; bounds?: Bounds; rules: Partial<Rules>; breaks: Invariant[] }[] = [
  {
    what: "nodes confirmed a candidate to the owner of the key, and set the counter to the maximum",
    rules: { confirms: (own) => own },
    breaks: ["unique"],
  },
  {
    what: "nodes confirmed a candidate that equals their counter",
    rules: { confirms: (own, counter, { start }) => own && counter <= start },
    breaks: ["unique"],
  },
  {
    what: "the guess were the fence where nodes have granted, but not raised",
    rules: { counts: () => true },
    breaks: ["unique", "ordered"],
  },
  {
    what: "votes raised a counter that lies within the block",
    bounds: BLOCKS,
    rules: { raises: (counter, { end }) => counter < end },
    breaks: ["unique", "ordered"],
  },
  {
    what: "nodes confirmed a block within which their counter lies",
    bounds: BLOCKS,
    rules: { confirms: (own, counter, { end }) => own && counter < end },
    breaks: ["unique"],
  },
  {
    what: "nodes raised their counters to the start of a block",
    bounds: BLOCKS,
    rules: { keeps: ({ start }) => start },
    breaks: ["unique", "ordered"],
  },
  { what: "nodes lost their counters", rules: { forgets: true }, breaks: ["unique", "ordered"] },
];

/** What the protocol gives, within which bounds, and how many states that has at the least. */
const PROMISES: readonly (readonly [what: string, bounds: Bounds, states: number])[] = [
  ["unique fences in real-time order on 3 nodes to 2 clients", SMALL, 15_000],
  ["blocks that do not overlap, in real-time order", BLOCKS, 110_000],
  ["blocks that do not overlap to a queued client", { ...SMALL, lengths: [2], keptPlace: true }, 40_000],
  ["unique fences in real-time order if counters differ", { ...SMALL, counters: [0, 1, 2], guesses: [2] }, 16_000],
  ["unique fences in real-time order to a queued client", { ...SMALL, keptPlace: true }, 40_000],
];

for (const [what, bounds, states] of PROMISES) {
  Deno.test(`fence protocol gives ${what}`, () => assertExhausted(exploreFence(bounds), states));
}

// Whoever has a fence has raised a majority of counters to it, each from below, and two majorities have a node in
// common: that is enough. The key keeps out who has lost the lock before it had its fence.
Deno.test("fence protocol gives unique fences in real-time order if confirm skips the key", () => {
  assertExhausted(exploreFence(SMALL, { confirms: (_own, counter, { start }) => counter < start }), 17_000);
});

for (const { what, bounds = SMALL, rules, breaks } of FLAWS) {
  for (const invariant of breaks) {
    Deno.test(`fence protocol would not give ${invariant} fences if ${what}`, () => {
      const { violation, trace } = exploreFence(bounds, rules, [invariant]);
      console.log(numbered(trace));
      assertEquals(violation, invariant);
    });
  }
}

Deno.test("fence protocol lets all clients through, in one trip or in two", () => {
  const trips = ({ rounds }: State) =>
    rounds.map(({ phase, asked }) => phase !== "returned" ? 0 : asked.includes(true) ? 2 : 1).sort().join(" and ");
  for (const [wanted, guesses] of [["1 and 1", [1, 2]], ["1 and 2", [1]], ["2 and 2", [1]]] as const) {
    const model = new FenceModel({ ...SMALL, guesses });
    assertEquals(explore(until(model, (state) => trips(state) === wanted)).violation, "reached", wanted);
  }
});

Deno.test("vote() and confirm() of the reference store do what those of the model do", async () => {
  await assertLikeModel(() => new MemoryStore(undefined, new SystemClock()));
});

Deno.test("vote() and confirm() of a Redis server do what those of the model do", async () => {
  await using server = await RedisServer.start();
  const node = serverStore(server.connect());
  await assertLikeModel(() => node);
});

/** Returns a model in which nothing is wrong but to reach a state of a kind. */
function until<S>(model: Model<S>, reached: (state: S) => boolean): Model<S> {
  return {
    initial: model.initial,
    key: (state) => model.key(state),
    *next(state) {
      for (const step of model.next(state)) yield { ...step, violation: reached(step.state) ? "reached" : undefined };
    },
  };
}

/** Fails unless a node does in each state what the model says. */
async function assertLikeModel(make: () => QuorumNode): Promise<void> {
  for (const holder of [undefined, 0, 1]) {
    for (const counter of [0, 1, 2, 3]) {
      for (const block of [1, 2, 3, 4].flatMap((start) => [{ start, end: start }, { start, end: start + 2 }])) {
        const state = { holder, counter };
        for (const skewed of [false, true]) await assertVote(await prepared(make(), state), state, block, skewed);
        await assertConfirm(await prepared(make(), state), state, block);
      }
    }
  }
}

async function assertVote({ node, claims }: Prepared, state: Node, guess: Block, skewed: boolean): Promise<void> {
  const what = JSON.stringify({ ...state, guess, skewed });
  const actual = await ask(node, claims[0]!, guess, skewed);
  // In the model the key of another owner has expired when a vote comes: it never refuses.
  if (state.holder === 1) return assertEquals(actual.granted, false, what);
  const [after, reply] = vote(state, 0, guess, skewed);
  assertEquals(actual, { granted: true, counter: BigInt(after.counter), raised: reply === YES }, what);
  assertEquals(await stateOf({ node, claims }), after, what);
}

async function assertConfirm({ node, claims }: Prepared, state: Node, candidate: Block): Promise<void> {
  const what = JSON.stringify({ ...state, candidate });
  const after = confirm(state, 0, candidate);
  assertEquals(
    await node.confirm(claims[0]!, BigInt(candidate.start), BigInt(candidate.end)),
    after !== undefined,
    what,
  );
  assertEquals(await stateOf({ node, claims }), after ?? state, what);
}

interface Prepared {
  readonly node: QuorumNode;
  /** By owner. */
  readonly claims: readonly Claim[];
}

/** Brings a node into a state, for a new name. */
async function prepared(node: QuorumNode, { holder, counter }: Node): Promise<Prepared> {
  const name = crypto.randomUUID();
  const claims = [0, 1].map((owner) => ({ name, owner: `${owner}`, mode: "exclusive", lease: 60_000 } as const));
  const first = claims[holder ?? 0]!;
  await ask(node, first, { start: counter, end: counter }, false);
  if (holder === undefined) await node.release(first);
  return { node, claims };
}

/** Returns the state of a node, and frees its lock. */
async function stateOf({ node, claims }: Prepared): Promise<Node> {
  const released = await Promise.all(claims.map((claim) => node.release(claim)));
  const vote = await ask(node, claims[0]!, { start: 1, end: 1 }, true);
  assert(vote.granted, "nobody holds it");
  const holder = released.indexOf(true);
  return { holder: holder < 0 ? undefined : holder, counter: Number(vote.counter) };
}

/** Votes with a guess that the node takes, or that is far ahead of its clock. */
function ask(node: QuorumNode, claim: Claim, { start, end }: Block, skewed: boolean): Promise<Vote> {
  const maxClockSkew = skewed ? -1e15 : 0;
  return node.vote(claim, { enqueue: false, guess: BigInt(start), end: BigInt(end), maxClockSkew });
}
