import { assertEquals, assertRejects } from "@std/assert";
import type { Vote } from "../../../src/store.ts";
import { type Answer, count, majority, outcome } from "../../../src/stores/redlock/ballot.ts";
import { settled, VirtualClock } from "../../virtual_clock.ts";

const yes: Answer<Vote> = { value: { granted: true, counter: 7n, raised: true } };
const behind: Answer<Vote> = { value: { granted: true, counter: 9n, raised: false } };
const no: Answer<Vote> = { value: { granted: false, retryAfter: 5 } };
const failed: Answer<Vote> = { error: new Error("connection lost") };

Deno.test("outcome() is busy when the coordinator has refused, whatever the others granted", () => {
  assertEquals(outcome([no, yes, yes, yes, yes], 0), "busy");
  assertEquals(outcome([yes, yes, no, undefined, undefined], 2), "busy");
});

Deno.test("outcome() is certain as soon as a majority is", () => {
  assertEquals(outcome([yes, yes, undefined], 2), "granted");
  assertEquals(outcome([yes, behind, undefined], 0), "confirm");
  assertEquals(outcome([yes, behind, yes], 0), "granted");
  assertEquals(outcome([yes, no, undefined], 0), undefined);
  assertEquals(outcome([yes, no, failed], 0), "busy");
  assertEquals(outcome([undefined, failed, failed], 0), "failed");
});

Deno.test("majority() is undefined while, or since, nothing is certain", () => {
  const [is, isNot, unknown] = [{ value: true }, { value: false }, { error: "lost" }];
  assertEquals(majority([is, undefined, is], 2), true);
  assertEquals(majority([is, isNot, isNot], 2), false);
  assertEquals(majority([is, isNot, undefined], 2), undefined);
  assertEquals(majority([is, isNot, unknown], 2), undefined);
});

Deno.test("count() decides once, in time, and still hears who answers late", async () => {
  const clock = new VirtualClock();
  const late = Promise.withResolvers<number>();
  const heard: [number, boolean][] = [];
  const decisions: number[] = [];
  const counted = count([Promise.resolve(1), late.promise, Promise.reject(new Error("lost"))], {
    decide: (answers) => {
      if (answers.includes(undefined)) return undefined;
      decisions.push(answers.filter((answer) => "value" in answer!).length);
      return decisions.at(-1);
    },
    heard: (place, answered) => heard.push([place, answered]),
    ms: 100,
    clock,
  });
  await clock.advance(100);
  assertEquals(await counted, 1);
  late.resolve(2);
  await settled();
  assertEquals(decisions, [1]);
  assertEquals(heard, [[0, true], [2, false], [1, false], [1, true]]);
  assertEquals(clock.pending, 0);
});

Deno.test("count() rejects with what the decision throws", async () => {
  const clock = new VirtualClock();
  const counting = { heard: () => {}, ms: 100, clock };
  const decide = () => {
    throw new RangeError("no");
  };
  await assertRejects(() => count([Promise.resolve(1)], { ...counting, decide }), RangeError);
  assertEquals(clock.pending, 0);
});
