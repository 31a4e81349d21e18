// Deno only: it starts a front of HTTP, and runs tests again that other runtimes run over ioredis.
/**
 * The tests of the Redis store on a server, over HTTP, as far as a client without a subscription has them. The suite
 * runs over it in workerd: `tests/runtimes/inside/clients.ts`.
 *
 * @module
 */
import "./use_upstash.ts";
import "./kinds_test.ts";
import "./owners_test.ts";
import "./runs_test.ts";
import "./paging_test.ts";
import "./reservations_test.ts";
import "../../faults/half_open_test.ts";
import "../../faults/late_commands_test.ts";
