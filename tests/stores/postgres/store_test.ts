// Deno only: it starts servers.
import { sharedServer } from "./shared_server.ts";
import { postgresSuite } from "./suite.ts";

const { server, ignore } = await sharedServer();
const url = () => server().url;

// The other way round on other servers.
postgresSuite({ what: ", woken", library: "pg", url, ignore, listens: true });
postgresSuite({ what: ", polling", library: "postgres.js", url, ignore, listens: false });
