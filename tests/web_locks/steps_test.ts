import { MEMORY } from "../places/embedded.ts";
import { webLocksOn } from "./suite.ts";

webLocksOn(MEMORY);
