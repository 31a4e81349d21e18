import { testOver } from "./clients.ts";

testOver("valkey-glide");
