// Deno only: it takes long, and starts a server.
import { assert } from "@std/assert";
import { mysql } from "@holdfast/lock/mysql";
import { ignore, Place } from "../../stores/mysql/place.ts";
import { endsOnce, plansOf } from "./ends.ts";
import { really, SHORT } from "./really.ts";

Place.serve();

Deno.test({
  name: "acquire() on MariaDB ends in one event",
  ignore,
  async fn() {
    await using place = await Place.open();
    const store = mysql(place.pool());
    await store.query();
    const counts = await endsOnce(plansOf(SHORT, { shared: true, faults: false }), 20, () => really(store));
    for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
  },
});
