import { MEMORY, QUORUM } from "../places/embedded.ts";
import { REDIS } from "../places/redis.ts";
import { cohortsSuite, cohortSuite } from "./suites.ts";

// Short turns, with which the process queues anew within most tests, and long ones.
for (const options of [{}, { linger: 10 }, { keep: 60_000, linger: 60_000 }]) cohortSuite(MEMORY, options);
cohortSuite(QUORUM, { keep: 60_000 });

// Without `linger`: a process that lingers does not free the lock for another one at once.
cohortsSuite(MEMORY);
cohortsSuite(REDIS);
