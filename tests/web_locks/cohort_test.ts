import { cohort } from "@holdfast/lock/cohort";
import { MEMORY, QUORUM } from "../places/embedded.ts";
import { STEALING } from "./stealing.ts";
import { ACROSS_NAMES, TOGETHER, webLocksOn } from "./suite.ts";

webLocksOn(MEMORY, [], cohort);

// Redlock steals nothing.
const steals = [...Object.keys(STEALING), "request() steals exclusively or not at all"];
webLocksOn(QUORUM, [...steals, ACROSS_NAMES, TOGETHER], cohort);
