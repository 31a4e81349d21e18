// Deno only: it takes long, and runs thousands of random histories.
import { SQLITE } from "../../places/embedded.ts";
import { reallyEndsOnce } from "./really.ts";

reallyEndsOnce(SQLITE);
