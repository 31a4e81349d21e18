// Deno only: it starts servers.
import { storeSuite } from "@holdfast/testing";
import { patient } from "../../support/patient.ts";
import { ignore, Place } from "./place.ts";

// What one member does, three do as well; other tests of this folder ask one.
Place.serve(3);

storeSuite({
  test: (name, fn) => Deno.test({ name: `etcd() on three members: ${name}`, fn, ignore }),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const place = new Place();
    const { endpoints } = Place.cluster;
    return {
      connect: () => {
        // A client asks the first one: each has another member there.
        endpoints.push(endpoints.shift()!);
        return patient(place.engine({ endpoints: [...endpoints] }));
      },
      leftovers: () => place.used(),
      close: () => place.closed(),
    };
  },
});
