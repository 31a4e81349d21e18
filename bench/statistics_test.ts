import { assertEquals, assertThrows } from "@std/assert";
import { mean, median, quantile, ratios, summarize } from "./statistics.ts";

Deno.test("quantile() lies between two samples in proportion", () => {
  const samples = [40, 10, 30, 20];
  assertEquals(quantile(samples, 0), 10);
  assertEquals(quantile(samples, 0.5), 25);
  assertEquals(quantile(samples, 0.75), 32.5);
  assertEquals(quantile(samples, 1), 40);
  assertEquals(samples, [40, 10, 30, 20], "the samples stay in their order");
});

Deno.test("quantile() sorts by size, not by text", () => {
  assertEquals(median([9, 100, 10]), 10);
});

Deno.test("quantile() and mean() refuse to make up a value without samples", () => {
  assertThrows(() => quantile([], 0.5), RangeError);
  assertThrows(() => mean([]), RangeError);
});

Deno.test("summarize() gives the middle, the quartiles and the tail", () => {
  const samples = Array.from({ length: 101 }, (_, place) => 100 - place);
  assertEquals(summarize(samples), { samples: 101, median: 50, quartiles: [25, 75], p95: 95, largest: 100 });
  assertEquals(mean(samples), 50);
});

Deno.test("ratios() compares each sample with its neighbour", () => {
  assertEquals(median(ratios([2, 20, 200], [1, 10, 100])), 2);
  assertThrows(() => ratios([1, 2], [1]), RangeError);
});
