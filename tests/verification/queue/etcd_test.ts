// Deno only: it takes long, and starts a server.
import { ignore, Place } from "../../stores/etcd/place.ts";
import { patient } from "../../support/patient.ts";
import { agreesInFewRuns } from "./agrees.ts";

Place.serve();

Deno.test({
  name: "etcd() grants what the model of the queue grants, in the same order",
  ignore,
  async fn() {
    const store = patient(new Place().store());
    await agreesInFewRuns(store);
  },
});
