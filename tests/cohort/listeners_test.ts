// Deno only: it replaces a method of AbortSignal to see its listeners.
import { assert } from "@std/assert";
import { getEventListeners } from "node:events";
import { settled } from "../support/virtual_clock.ts";
import { Place } from "./place.ts";

Deno.test("cohort() leaves no listener on a lock that it renews again and again", async () => {
  const place = new Place({ keep: 60_000 });
  const signals = new Set<AbortSignal>();
  const add = AbortSignal.prototype.addEventListener;
  AbortSignal.prototype.addEventListener = function (this: AbortSignal, ...args: Parameters<typeof add>) {
    signals.add(this);
    Reflect.apply(add, this, args);
  } as typeof add;
  try {
    let [holder] = await place.row({ lease: 900 });
    for (let turn = 0; turn < 20; turn++) {
      const next = await place.begin({ lease: 900 });
      await place.clock.advance(100);
      await holder.release();
      await settled();
      holder = next.lock!;
    }
    assert(place.line.count("renew") >= 20);
    for (const signal of signals) assert(getEventListeners(signal, "abort").length <= 1);
    await holder.release();
  } finally {
    AbortSignal.prototype.addEventListener = add;
  }
});
