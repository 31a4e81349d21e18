// Deno only: it runs tests again that other runtimes run over ioredis.
/**
 * The tests of the Redis store on a server, over a client of node-redis 6 in the place of one of ioredis 6.
 *
 * @module
 */
import "./use_node_redis.ts";
import "./kinds_test.ts";
import "./owners_test.ts";
import "./revocations_test.ts";
import "./runs_test.ts";
import "./refusals_test.ts";
import "./paging_test.ts";
import "./reservations_test.ts";
import "./wakeups/wakeups_test.ts";
import "../../faults/half_open_test.ts";
import "../../faults/late_commands_test.ts";
