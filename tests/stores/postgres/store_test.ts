// Deno only: it starts servers.
import { LIBRARIES } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";
import { postgresSuite } from "./suite.ts";

const { server, ignore } = await sharedServer();

for (const library of LIBRARIES) {
  for (const listens of [true, false]) {
    postgresSuite({ what: listens ? ", woken" : ", polling", library, url: () => server().url, ignore, listens });
  }
}
