// Deno only: it starts a server.
import { storeSuite } from "@holdfast/testing";
import { type ClientName, ignore, Place } from "./place.ts";
import { patient } from "../../support/patient.ts";

Place.serve();

for (const client of ["mysql2", "mariadb"] satisfies ClientName[]) {
  storeSuite({
    test: (name, fn) => Deno.test({ name: `mysql() over ${client}: ${name}`, fn, ignore }),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: async () => {
      const place = await Place.open();
      return {
        connect: async () => patient(await place.engine(client)),
        leftovers: () => place.used(),
        close: () => place[Symbol.asyncDispose](),
      };
    },
  });
}
