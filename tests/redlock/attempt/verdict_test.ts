import { assert, assertEquals } from "@std/assert";
import type { Answer } from "../../../src/redlock/nodes/answers.ts";
import type { Vote } from "../../../src/contract/quorum_node.ts";
import { quorum, type Verdict, verdict, verdictOf, type VoteTally } from "../../../src/redlock/attempt/verdict.ts";

const pending: Answer<Vote> = { state: "pending" };
const yes: Answer<Vote> = { state: "answered", value: { granted: true, counter: 7n, raised: true } };
const behind: Answer<Vote> = { state: "answered", value: { granted: true, counter: 9n, raised: false } };
const no: Answer<Vote> = { state: "answered", value: { granted: false, retryAfter: 5 } };
const failed: Answer<Vote> = { state: "failed", error: new Error("connection lost") };

Deno.test("quorum() is the smallest number of nodes of which any two sets overlap", () => {
  assertEquals([1, 2, 3, 4, 5, 6, 7, 8, 9].map(quorum), [1, 2, 2, 3, 3, 4, 4, 5, 5]);
  for (let n = 1; n <= 9; n++) {
    assert(2 * quorum(n) > n, `two majorities of ${n} nodes overlap`);
    assert(2 * (quorum(n) - 1) <= n, `fewer than ${quorum(n)} of ${n} nodes are not enough`);
  }
});

Deno.test("verdict() decides by the votes of a round", () => {
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

Deno.test("verdict() is defined when all nodes have voted", () => {
  for (let n = 1; n <= 5; n++) {
    for (const votes of rounds("RGBF", n)) assert(verdict(tally(votes)) !== undefined, votes);
  }
});

Deno.test("verdict() is certain: no pending votes can change it", () => {
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

Deno.test("verdictOf() is busy when the coordinator has refused, whatever others granted", () => {
  assertEquals(verdictOf([no, yes, yes, yes, yes], 0), "busy");
  assertEquals(verdictOf([yes, yes, no, pending, pending], 2), "busy");
});

Deno.test("verdictOf() counts the refusal of a coordinator whose lock is old as one of many", () => {
  const refused = (heldFor?: number): Answer<Vote> => {
    return { state: "answered", value: { granted: false, retryAfter: 5, heldFor } };
  };
  for (const held of [undefined, 0, 999]) assertEquals(verdictOf([refused(held), yes, yes], 0), "busy", `${held} ms`);
  for (const held of [1_000, Infinity]) {
    assertEquals(verdictOf([refused(held), yes, yes], 0), "granted", `${held} ms`);
    assertEquals(verdictOf([refused(held), yes, behind], 0), "confirm");
    assertEquals(verdictOf([refused(held), yes, pending], 0), undefined);
    assertEquals(verdictOf([refused(held), no, pending], 0), "busy");
    assertEquals(verdictOf([refused(held), failed, failed], 0), "busy", "it waits in the queue");
  }
});

Deno.test("verdictOf() is certain as soon as a majority is", () => {
  assertEquals(verdictOf([yes, yes, pending], 2), "granted");
  assertEquals(verdictOf([yes, behind, pending], 0), "confirm");
  assertEquals(verdictOf([yes, behind, yes], 0), "granted");
  assertEquals(verdictOf([yes, no, pending], 0), undefined);
  assertEquals(verdictOf([yes, no, failed], 0), "busy");
  assertEquals(verdictOf([pending, failed, failed], 0), "failed");
});

/** The tally of votes that are written as one letter each, as above. */
function tally(votes: string): VoteTally {
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
