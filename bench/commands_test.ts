import { assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import { countCommands } from "./commands.ts";

Deno.test("countCommands() tells what clients sent from what scripts called", async () => {
  const info = [
    ["evalsha", 7],
    ["eval", 1],
    ["ping", 2],
    ["subscribe", 1],
    ["zadd", 5],
    ["config|resetstat", 1],
    ["info", 1],
  ].map(([name, calls]) => `cmdstat_${name}:calls=${calls},usec=3,usec_per_call=0.43`);
  const client = { info: () => Promise.resolve(`# Commandstats\r\n${info.join("\r\n")}\r\n`) };
  assertEquals(await countCommands(client as unknown as Redis), { scripts: 8, sent: 11, all: 16 });
});
