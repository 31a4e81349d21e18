// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { SlowServer, Stalls } from "./stalls.ts";
import { standStill } from "../../support/stand_still.ts";
import { until } from "../../support/until.ts";

Deno.test("Stalls notes when the process stood still", async () => {
  const reported: unknown[] = [];
  using stalls = new Stalls(200, (stall) => reported.push(stall));
  standStill(250);
  await until(() => stalls.seen.length > 0, "the stall is noted");
  const [{ start, end }] = stalls.seen as [{ start: number; end: number }];
  assert(end - start >= 249, `${end - start}`);
  assertEquals(reported.slice(0, 1), stalls.seen.slice(0, 1));
});

Deno.test("Stalls adds up those that follow each other", async () => {
  using stalls = new Stalls(200);
  for (let i = 0; i < 3; i++) {
    standStill(90);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await until(() => stalls.seen.length > 0, "the stall is noted");
  const [{ start, end }] = stalls.seen as [{ start: number; end: number }];
  assert(end - start >= 200, `${end - start}`);
});

Deno.test("SlowServer notes only answers that take too long", async () => {
  let asked = 0;
  // Longer than the machine stands still.
  const ask = () => new Promise((resolve) => setTimeout(resolve, asked++ === 1 ? 5_050 : 0));
  await using slow = new SlowServer(5_000, ask);
  await until(() => asked > 3, "it is asked again and again");
  assertEquals(slow.seen.map(({ start, end }) => end - start >= 5_049), [true]);
});

Deno.test("SlowServer notes that there is no answer", async () => {
  let asked = 0;
  await using slow = new SlowServer(
    60_000,
    () => asked++ === 1 ? Promise.reject(new Error("down")) : Promise.resolve(),
  );
  await until(() => asked > 3, "it is asked again and again");
  assertEquals(slow.seen.length, 1);
});
