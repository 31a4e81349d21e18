import { testOver } from "./clients.ts";

testOver("node-redis 6");
