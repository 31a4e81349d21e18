// Deno only: it tests a tool for Deno.
import { assert, assertRejects } from "@std/assert";
import { compare, now } from "../../verification/history/history.ts";
import { agree } from "./clocks.ts";

Deno.test("agree() rejects a process whose clock is 11 ms behind or ahead, and no other", async () => {
  let time = 1_000;
  // A question takes 4 ms; the answer is given after half of that.
  const ask = (offset: number) => () => {
    time += 4;
    return Promise.resolve(time - 2 + offset);
  };
  await agree(ask(0), () => time);
  await agree(ask(4), () => time);
  await agree(ask(-4), () => time);
  await assertRejects(() => agree(ask(-11), () => time), Error, "ms behind");
  await assertRejects(() => agree(ask(11), () => time), Error, "ms ahead");
});

Deno.test("agree() rejects nothing that slow answers could explain", async () => {
  let time = 1_000;
  const ask = () => {
    time += 5_000;
    return Promise.resolve(time - 11);
  };
  await agree(ask, () => time);
});

Deno.test("compare() finds by how much a clock is behind one with whole milliseconds", () => {
  for (const behind of [-11.4, 0, 11.4]) {
    let fine = 100;
    const found = compare(() => Math.floor(fine + behind), () => fine += 0.01);
    assert(Math.abs(found - behind) < 0.05, `${found}`);
  }
});

Deno.test("compare() takes its readings although it was interrupted before the first one", () => {
  let fine = 0;
  const found = compare(() => Math.floor(fine), () => fine += fine === 0 ? 1 : fine === 1 ? 500 : 0.01);
  assert(Math.abs(found) < 0.1, `${found}`);
});

Deno.test("compare() goes on until it has seen milliseconds begin", () => {
  let fine = 100.4;
  // For 10 ms the process is interrupted whenever one begins.
  const found = compare(() => Math.floor(fine), () => fine += fine < 110 && fine % 1 > 0.9 ? 0.6 : 0.01);
  assert(Math.abs(found) < 0.05, `${found}`);
});

Deno.test("now() agrees with the wall clock, which has whole milliseconds", () => {
  // Of many readings, since an interruption between the two of one makes the difference smaller.
  const most = Math.max(...Array.from({ length: 10_000 }, () => now() - Date.now()));
  assert(most > -1 && most < 3, `${most}`);
});
