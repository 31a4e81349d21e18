import { assertEquals, assertRejects } from "@std/assert";
import { type Answer, approval, majority, poll, valueOf } from "../../../src/redlock/nodes/answers.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";

const pending = { state: "pending" } as const;
const failed = { state: "failed", error: "lost" } as const;
const answered = (value: boolean): Answer<boolean> => ({ state: "answered", value });

Deno.test("majority() is undefined as long as nothing is certain", () => {
  const [is, isNot, unknown] = [answered(true), answered(false), failed];
  assertEquals(majority([is, pending, is], 2), true);
  assertEquals(majority([is, isNot, isNot], 2), false);
  assertEquals(majority([is, isNot, pending], 2), undefined);
  assertEquals(majority([is, isNot, unknown], 2), undefined);
});

Deno.test("approval() is false once all nodes have settled without a majority", () => {
  const [is, isNot] = [answered(true), answered(false)];
  assertEquals(approval([is, is, pending], 2), true);
  assertEquals(approval([is, isNot, pending], 2), undefined);
  assertEquals(approval([is, isNot, failed], 2), false);
});

Deno.test("poll() decides once, in time, and still notes late answers", async () => {
  const clock = new VirtualClock();
  const late = Promise.withResolvers<number>();
  const settledNodes: [number, boolean][] = [];
  const decisions: number[] = [];
  const polled = poll([Promise.resolve(1), late.promise, Promise.reject(new Error("lost"))], {
    decide: (answers) => {
      if (answers.some(({ state }) => state === "pending")) return undefined;
      decisions.push(answers.filter(({ state }) => state === "answered").length);
      return decisions.at(-1);
    },
    onSettled: (node, answered) => settledNodes.push([node, answered]),
    timeout: 100,
    onTimeout: (nodes) => nodes.map((node) => new Error(`node ${node} is late`)),
    time: clock,
  });
  await clock.advance(100);
  assertEquals(await polled, 1);
  late.resolve(2);
  await settled();
  assertEquals(decisions, [1]);
  assertEquals(settledNodes, [[0, true], [2, false], [1, true]]);
  assertEquals(clock.pending, 0);
});

Deno.test("poll() does not count an answer after its time-out while others have more time", async () => {
  const clock = new VirtualClock();
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const polled = poll([first.promise, second.promise], {
    decide: (answers) => answers.some(({ state }) => state === "pending") ? undefined : answers.map(valueOf),
    onSettled: () => {},
    timeout: 100,
    onTimeout: (nodes) => nodes.map((node) => node === 0 ? new Error("late") : undefined),
    time: clock,
  });
  await clock.advance(100);
  first.resolve(1);
  await settled();
  second.resolve(2);
  assertEquals(await polled, [undefined, 2]);
  assertEquals(clock.pending, 0);
});

Deno.test("poll() rejects with what the decision throws", async () => {
  const clock = new VirtualClock();
  const options = { onSettled: () => {}, timeout: 100, onTimeout: () => [], time: clock };
  const decide = () => {
    throw new RangeError("no");
  };
  await assertRejects(() => poll([Promise.resolve(1)], { ...options, decide }), RangeError);
  assertEquals(clock.pending, 0);
});
