import type { Untaken } from "../kernel/branches.ts";

/** Branches of Redlock that no seed takes, by the file, and by what takes them instead. */
// deno-fmt-ignore
export const UNTAKEN: Untaken = {
  "redlock/attempt/contention.ts": {
    "it takes a thousand busy names: tests/redlock/attempt/contention_test.ts": [
      "never called: (_, old) => old",
    ],
  },
  "redlock/attempt/fences.ts": {
    "clocks of nodes are less than 10 ms apart: tests/redlock/attempt/fences_test.ts": [
      "blockFrom never true: allowed < MAX_AHEAD_US",
    ],
  },
  "redlock/attempt/round.ts": {
    "a round that has no place, of which nobody gives one: tests/redlock/succeed_test.ts": [
      "giveTo never true: i === undefined",
    ],
    "it tells a type": [
      "#restore never true: fence === undefined",
    ],
  },
  "redlock/attempt/round_id.ts": {
    "the nodes of the world have no query(): tests/redlock/query_test.ts": [
      "never called: export function ownerOf(id: string): string { return id.replace(ROUND, \"\"); }",
    ],
  },
  "redlock/nodes/answers.ts": {
    "a node connects while it is asked: tests/redlock/connecting_test.ts": [
      "poll never false: error !== undefined",
      "poll never true: !isComplete(answers)",
    ],
  },
  "redlock/nodes/node_health.ts": {
    "a node connects while it is asked: tests/redlock/connecting_test.ts": [
      "connecting never false: this.#node.connecting !== true",
    ],
  },
  "redlock/nodes/node_release.ts": {
    "nodes fail for good, and are closed: tests/redlock/nodes/node_release_test.ts": [
      "constructor never called: () => {}",
      "#retry never missing: this.#node.queueTimeout",
      "#retry never true: this.#node.closed",
      "#retry never true: failure instanceof StoreError",
      "#retry never true: useless",
      "#retry never true: useless || elapsed(this.#began, this.#clock.now()) >= limit",
    ],
  },
  "redlock/nodes/node_vote.ts": {
    "a place is left of a vote that is released meanwhile, which is rare: tests/redlock/nodes/node_vote_test.ts": [
      "leaveQueue never false: this.#state.name !== \"released\"",
    ],
    "it tells a type": [
      "#hasReleasedVote never true: this.#state.name !== \"released\"",
      "#hasReleasedVote never called: () => false",
    ],
  },
  "redlock/nodes/nodes.ts": {
    "a node connects while it is asked: tests/redlock/connecting_test.ts": [
      "poll never true: extended.includes(i)",
    ],
    "the only node that is asked does not answer in time, as it is about to: tests/redlock/slow_nodes_test.ts": [
      "single never true: answer!.state === \"pending\"",
    ],
    "a release is retried until it is given up: tests/redlock/nodes/nodes_test.ts": [
      "releaseInBackground never called: () => {}",
    ],
    "nodes fail for good, and have addresses: tests/redlock/failing_nodes_test.ts": [
      "failure never true: error instanceof StoreError",
      "#timedOut never false: cause === undefined",
    ],
  },
  "redlock/store.ts": {
    "it makes nodes of clients: tests/redlock/mod_test.ts": [
      "never called: export function redlock(nodes: readonly (Store | RedisClient)[], options: Redloc",
      "redlock never false: !Array.isArray(nodes)",
      "redlock never true: !Array.isArray(nodes)",
      "redlock never true: nodes.length < 1 || nodes.length > MAX_NODES",
      "redlock never true: nodes.length < 1",
      "redlock never false: nodes.length < 1 || nodes.length > MAX_NODES",
      "redlock never false: nodes.length < 1",
      "redlock never false: new Set(nodes).size < nodes.length",
      "redlock never true: new Set(nodes).size < nodes.length",
      "never called: function nodeOf(given: Store | RedisClient): QuorumNode { if (isNode(given)) ret",
      "nodeOf never true: isNode(given)",
      "nodeOf never false: isNode(given)",
      "nodeOf never false: given instanceof HandoffStore",
      "nodeOf never false: given instanceof HandoffStore && !given.keeps",
      "nodeOf never true: given instanceof HandoffStore && !given.keeps",
      "nodeOf never true: given instanceof HandoffStore",
      "nodeOf never false: isNode(node)",
      "nodeOf never true: isNode(node)",
      "never called: function isNode(node: Store | RedisClient): node is QuorumNode { return typeof n",
      "isNode never true: typeof node === \"object\" && node !== null && \"vote\" in node && \"confirm\" in node",
      "isNode never false: typeof node === \"object\" && node !== null && \"vote\" in node",
      "isNode never false: typeof node === \"object\" && node !== null && \"vote\" in node && \"confirm\" in node",
      "isNode never false: typeof node === \"object\"",
      "isNode never true: typeof node === \"object\" && node !== null",
      "isNode never false: typeof node === \"object\" && node !== null",
      "isNode never true: typeof node === \"object\" && node !== null && \"vote\" in node",
      "isNode never true: typeof node === \"object\"",
    ],
    "the nodes of the world have no evict(): tests/redlock/evict_test.ts": [
      "constructor never true: nodes.every((node) => node.evict !== undefined)",
      "constructor never called: (name, options) => evict(this.#nodes, name, options)",
    ],
    "the nodes of the world have no query(): tests/redlock/query_test.ts": [
      "constructor never true: nodes.every((node) => node.query !== undefined)",
      "constructor never called: (options) => query(this.#nodes, options, settings.maxClockSkew)",
    ],
    "a handle attempts again after 10 s without an answer, which no world takes: tests/redlock/store_test.ts": [
      "attempt never true: inFlight !== undefined",
      "attempt never called: (attempt) => attempt.granted ? { ...attempt, age } : attempt",
      "attempt never true: attempt.granted",
      "attempt never false: attempt.granted",
    ],
    "a lease ends while its renewals are answered, which is rare: tests/redlock/renew_test.ts": [
      "renew never true: round.expired",
    ],
    "two handles that have asked, of which a cohort gives no place to the other: tests/redlock/succeed_test.ts": [
      "succeed never true: before === undefined || this.#rounds.of(to) !== undefined",
      "succeed never true: before === undefined",
    ],
  },
};
