// Deno only: it takes long, and runs thousands of random histories.
import { assert } from "@std/assert";
import { denoKv } from "@holdfast/lock/deno-kv";
import { endsOnce, plansOf } from "./ends.ts";
import { really, SHORT } from "./really.ts";

Deno.test({
  name: "acquire() on a Deno KV ends in one event",
  async fn() {
    using kv = await Deno.openKv(":memory:");
    const store = denoKv(kv);
    const counts = await endsOnce(plansOf(SHORT, { shared: true, faults: false }), 20, () => really(store));
    for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
  },
});
