import { testOver } from "./clients.ts";

testOver("upstash");
