// Deno only: it takes long, and runs thousands of random histories.
import { assert } from "@std/assert";
import { postgres } from "@holdfast/lock/postgres";
import { connectWith } from "../../stores/postgres/clients.ts";
import { sharedServer } from "../../stores/postgres/shared_server.ts";
import { endsOnce, plansOf } from "./ends.ts";
import { really, SHORT } from "./really.ts";

const { server, ignore } = await sharedServer();

Deno.test({
  name: "acquire() on PostgreSQL ends in one event",
  ignore,
  fn: async () => {
    await using connected = connectWith("pg", server().url);
    const store = postgres(connected.client);
    const counts = await endsOnce(plansOf(SHORT, { shared: true, faults: false }), 20, () => really(store));
    for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
  },
});
