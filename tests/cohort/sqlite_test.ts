import { SQLITE } from "../places/embedded.ts";
import { cohortsSuite } from "./suites.ts";

cohortsSuite(SQLITE);
