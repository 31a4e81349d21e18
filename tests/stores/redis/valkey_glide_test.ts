// Deno only: it runs tests again that other runtimes run over ioredis.
/**
 * The tests of the Redis store on a server, over a client of valkey-glide in the place of one of ioredis 6. Left out:
 * what depends on messages alone, on seeing that a connection was cut, or on users without the right to run INFO, which
 * the client itself needs; and what takes long, which clients with the same code for it show.
 *
 * @module
 */
import "./use_valkey_glide.ts";
import "./kinds_test.ts";
import "./owners_test.ts";
import "./revocations_test.ts";
import "./runs_test.ts";
import "./reservations_test.ts";
import "../../faults/late_commands_test.ts";
