// Deno only: it starts servers.
import { storeSuite } from "@holdfast/testing";
import { patient } from "../../support/patient.ts";
import { ignore, Place } from "./place.ts";

for (const members of [1, 3]) {
  Place.serve(members);
  storeSuite({
    test: (name, fn) => Deno.test({ name: `etcd() with members: ${members}: ${name}`, fn, ignore }),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: () => {
      const place = new Place(members);
      return { connect: () => patient(place.engine()), leftovers: () => place.used(), close: () => place.closed() };
    },
  });
}
