import { assert, assertEquals } from "@std/assert";
import {
  candidate,
  coordinators,
  guess,
  nodeTimeout,
  quorum,
  type Tally,
  type Verdict,
  verdict,
} from "../../../src/stores/redlock/arithmetic.ts";

Deno.test("quorum() is the smallest number of nodes of which any two sets overlap", () => {
  assertEquals([1, 2, 3, 4, 5, 6, 7, 8, 9].map(quorum), [1, 2, 2, 3, 3, 4, 4, 5, 5]);
  for (let n = 1; n <= 9; n++) {
    assert(2 * quorum(n) > n, `two majorities of ${n} nodes overlap`);
    assert(2 * (quorum(n) - 1) <= n, `fewer than ${quorum(n)} of ${n} nodes are not enough`);
  }
});

Deno.test("coordinators() orders all nodes, for every process alike", () => {
  assertEquals(coordinators("a", 5), coordinators("a", 5));
  for (let n = 1; n <= 9; n++) {
    for (const name of ["a", "invoice:42", "\u{1f512}", ""]) {
      const order = coordinators(name, n);
      assertEquals(order.toSorted(), Array.from({ length: n }, (_, i) => i), `${name} on ${n} nodes`);
    }
  }
});

Deno.test("coordinators() begins at the place that FNV-1a gives", () => {
  // Known values of the hash, of 32 bits: processes of different versions must agree.
  const hashes = { "": 0x811c9dc5, a: 0xe40c292c, foobar: 0xbf9cf968 };
  for (const [name, hash] of Object.entries(hashes)) {
    for (let n = 1; n <= 9; n++) assertEquals(coordinators(name, n)[0], hash % n, `${name} on ${n} nodes`);
  }
});

Deno.test("coordinators() spreads names over the nodes", () => {
  const names = Array.from({ length: 5_000 }, (_, i) => `invoice:${i}`);
  const firsts = Map.groupBy(names, (name) => coordinators(name, 5)[0]);
  for (let node = 0; node < 5; node++) {
    const share = (firsts.get(node)?.length ?? 0) / names.length;
    assert(share > 0.15 && share < 0.25, `node ${node} coordinates ${share} of the names`);
  }
});

Deno.test("guess() is the clock in µs, or above whatever was seen", () => {
  const cases = [
    { highest: 0n, wall: 1_700_000_000_000, expected: 1_700_000_000_000_000n },
    { highest: 1_700_000_000_000_000n, wall: 1_700_000_000_000, expected: 1_700_000_000_000_001n },
    { highest: 1_800_000_000_000_000n, wall: 1_700_000_000_000, expected: 1_800_000_000_000_001n },
    { highest: 0n, wall: 1_700_000_000_000.25, expected: 1_700_000_000_000_250n },
    { highest: 0n, wall: 0.0009, expected: 1n },
    // Above 2^53, where numbers of another kind would lose it.
    { highest: 2n ** 53n, wall: 0, expected: 2n ** 53n + 1n },
  ];
  for (const { highest, wall, expected } of cases) assertEquals(guess(highest, wall), expected);
});

Deno.test("candidate() is above every counter", () => {
  assertEquals(candidate([]), 1n);
  assertEquals(candidate([0n]), 1n);
  assertEquals(candidate([3n, 7n, 5n]), 8n);
  assertEquals(candidate([2n ** 60n, 2n ** 60n - 1n]), 2n ** 60n + 1n);
});

Deno.test("nodeTimeout() is 1 % of the lease, at least 50 ms", () => {
  assertEquals([10, 5_000, 5_001, 30_000].map(nodeTimeout), [50, 50, 50.01, 300]);
});

Deno.test("verdict() says what a round comes to", () => {
  const cases: [votes: string, expected: Verdict | undefined][] = [
    // One letter for each of five nodes: granted and Raised, Granted only, Busy, Failed, or still out.
    [".....", undefined],
    ["RR...", undefined],
    ["RRR..", "granted"],
    ["RRRBF", "granted"],
    ["RRRG.", "granted"],
    ["RRG..", "confirm"],
    ["GGG..", "confirm"],
    ["RRGBF", "confirm"],
    ["RRBB.", undefined],
    ["BBB..", "busy"],
    ["BBF..", "busy"],
    ["BFF..", "busy"],
    ["RRBBF", "busy"],
    ["RRBFF", "busy"],
    ["FFF..", "failed"],
    ["BBFFF", "failed"],
    ["RRFFF", "failed"],
    // An even number: two of four are no majority, and two refusals leave none.
    ["RR..", undefined],
    ["RRR.", "granted"],
    ["BB..", "busy"],
    ["BF..", "busy"],
    ["FF..", "failed"],
    ["RRBB", "busy"],
    ["RRFF", "failed"],
    // One, and two.
    ["R", "granted"],
    ["G", "confirm"],
    ["B", "busy"],
    ["F", "failed"],
    ["R.", undefined],
    ["RG", "confirm"],
    ["RB", "busy"],
    ["RF", "failed"],
  ];
  for (const [votes, expected] of cases) assertEquals(verdict(tally(votes)), expected, votes);
});

Deno.test("verdict() always comes to something when all nodes have spoken", () => {
  for (let n = 1; n <= 5; n++) {
    for (const votes of rounds("RGBF", n)) assert(verdict(tally(votes)) !== undefined, votes);
  }
});

Deno.test("verdict() is certain: no votes that are still out can turn it", () => {
  for (let n = 1; n <= 5; n++) {
    for (const votes of rounds("RGBF.", n)) {
      const decided = verdict(tally(votes));
      const ends = [...completions(votes)].map((end) => facts(end));
      switch (decided) {
        case "granted":
          assert(ends.every((end) => end.granted && end.raised), votes);
          break;
        case "confirm":
          assert(ends.every((end) => end.granted), votes);
          break;
        case "busy":
        case "failed":
          assert(!ends.some((end) => end.granted), votes);
          break;
        case undefined:
          // It is not put off for longer than that.
          assert(ends.some((end) => end.granted) && ends.some((end) => !end.granted), votes);
      }
    }
  }
});

Deno.test("verdict() is failed only when failures alone rule out a majority", () => {
  for (let n = 1; n <= 5; n++) {
    for (const votes of rounds("RGBF.", n)) {
      const { granted, failed } = tally(votes);
      const ruledOut = n - failed < quorum(n);
      if (granted < quorum(n)) assertEquals(verdict(tally(votes)) === "failed", ruledOut, votes);
    }
  }
});

/** The tally of votes that are written as one letter each, as above. */
function tally(votes: string): Tally {
  const number = (letters: string) => [...votes].filter((vote) => letters.includes(vote)).length;
  return { nodes: votes.length, granted: number("RG"), raised: number("R"), busy: number("B"), failed: number("F") };
}

/** All rounds of `n` votes of these letters. */
function* rounds(letters: string, n: number): Generator<string> {
  if (n === 0) yield "";
  else for (const rest of rounds(letters, n - 1)) for (const letter of letters) yield rest + letter;
}

/** All ways in which the votes that are out can come in. */
function* completions(votes: string): Generator<string> {
  if (!votes.includes(".")) yield votes;
  else for (const letter of "RGBF") yield* completions(votes.replace(".", letter));
}

/** What the votes of a finished round come to, by counting heads. */
function facts(votes: string): { granted: boolean; raised: boolean } {
  const half = votes.length / 2;
  const { granted, raised } = tally(votes);
  return { granted: granted > half, raised: raised > half };
}
