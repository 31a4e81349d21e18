import { IN_FULL } from "./clients.ts";
import { testOver } from "./tested.ts";

testOver(IN_FULL[1]!);
