import { REDLOCK } from "../places/redis.ts";
import { cohortsSuite } from "./suites.ts";

cohortsSuite(REDLOCK);
