// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { Asked } from "./asked.ts";
import { Belief } from "./belief.ts";

/** A holder whose lease ends at 1,500, and when it was found to believe for too long. */
class Holder {
  now = 0;
  readonly lock = { held: true };
  readonly found: [at: number, ms: number][] = [];

  begin(overdue = 0): Belief {
    const trace = { deadline: 1_500, lease: new Asked("x"), overdue };
    return new Belief(this.lock, trace, 0, () => this.now, (at, ms) => this.found.push([at, ms]));
  }
}

Deno.test("Belief finds a lock whose grant came after the end of its lease", () => {
  const late = new Holder();
  late.lock.held = false;
  late.now = 1_520;
  const belief = late.begin(10);
  assertEquals([late.found, belief.held(), belief.at], [[[1_520, 10]], false, 0]);
});

Deno.test("Belief does not blame a process that was stopped after its grant", () => {
  const stopped = new Holder();
  stopped.lock.held = false;
  stopped.now = 2_500;
  assertEquals([stopped.begin().held(), stopped.found], [false, []]);
});

Deno.test("Belief.held() finds once that a lock is held after the end of its lease", () => {
  const holder = new Holder();
  const belief = holder.begin();
  for (const at of [1_400, 1_600, 1_700]) {
    holder.now = at;
    assertEquals([belief.held(), belief.at], [true, at]);
  }
  assertEquals(holder.found, [[1_600, 100]]);
  holder.lock.held = false;
  assertEquals([belief.held(), belief.at], [false, 1_700]);
});
