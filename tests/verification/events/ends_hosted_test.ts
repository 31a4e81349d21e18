// Deno only: it takes long, and runs thousands of random histories.
import { HOSTED } from "../../places/engine.ts";
import { reallyEndsOnce } from "./really.ts";

for (const place of HOSTED) reallyEndsOnce(place);
