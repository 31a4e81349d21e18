import { cohort } from "@holdfast/lock/cohort";
import { REDIS } from "../places/redis.ts";
import { webLocksOn } from "./suite.ts";

// Each is a process of its own, with a connection and a cohort of its own.
webLocksOn(REDIS, [], cohort);
