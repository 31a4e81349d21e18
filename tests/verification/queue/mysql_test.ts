// Deno only: it takes long, and starts a server.
import { mysql } from "@holdfast/lock/mysql";
import { ignore, Place } from "../../stores/mysql/place.ts";
import { patient } from "../../support/patient.ts";
import { agreesInFewRuns } from "./agrees.ts";

Place.serve();

Deno.test({
  name: "mysql() grants what the model of the queue grants, in the same order",
  ignore,
  async fn() {
    await using place = await Place.open();
    const store = patient(mysql(place.pool()));
    await store.query();
    await agreesInFewRuns(store);
  },
});
