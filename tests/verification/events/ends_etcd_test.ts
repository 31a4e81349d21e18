// Deno only: it takes long, and starts a server.
import { assert } from "@std/assert";
import { ignore, Place } from "../../stores/etcd/place.ts";
import { endsOnce, plansOf } from "./ends.ts";
import { really, SHORT } from "./really.ts";

Place.serve();

Deno.test({
  name: "acquire() on etcd ends in one event",
  ignore,
  async fn() {
    const store = new Place().store();
    await store.query();
    const counts = await endsOnce(plansOf(SHORT, { shared: true, faults: false }), 20, () => really(store));
    for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
  },
});
