import { OVER_HTTP } from "./clients.ts";
import { testOver } from "./tested.ts";

testOver(OVER_HTTP);
