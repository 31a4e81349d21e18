// Deno only: it takes long, and runs thousands of random histories.
import { assert } from "@std/assert";
import { durableObject } from "@holdfast/lock/durable-object";
import { ObjectHost } from "../../stores/durable_object/host.ts";
import { endsOnce, plansOf } from "./ends.ts";
import { really, SHORT } from "./really.ts";

Deno.test("acquire() on Durable Objects ends in one event", async () => {
  const store = durableObject(new ObjectHost());
  const counts = await endsOnce(plansOf(SHORT, { shared: true, faults: false }), 20, () => really(store));
  for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
});
