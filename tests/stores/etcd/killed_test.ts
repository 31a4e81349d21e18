// Deno only: it starts a server, and kills processes.
import { killHolder } from "../../support/killed_holder.ts";
import { killedSuite } from "../../verification/killed_suite.ts";
import { ignore, Place } from "./place.ts";

Place.serve();

const PROGRAM = new URL("holder_process.ts", import.meta.url);

killedSuite({
  of: "etcd",
  ignore,
  open: () => {
    const place = new Place();
    return {
      async kill(lease) {
        const fence = await killHolder(PROGRAM, Place.cluster.endpoints[0]!, place.prefix, `${lease}`);
        const [holder] = (await place.documents()).get("a")!.holders.values();
        return { fence, end: holder!.end };
      },
      store: (maxClockSkew) => place.store({ maxClockSkew }),
      engine: () => Promise.resolve(place.engine()),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
});
