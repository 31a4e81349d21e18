import { cohort } from "@holdfast/lock/cohort";
import { SQLITE } from "../places/embedded.ts";
import { ACROSS_NAMES, TOGETHER, webLocksOn } from "./suite.ts";

webLocksOn(SQLITE, [ACROSS_NAMES, TOGETHER], cohort);
