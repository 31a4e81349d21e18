// Deno only: it tests a tool for Deno.
import { assertEquals, assertThrows } from "@std/assert";
import { parse } from "../../support/command_line.ts";
import { PROGRAM } from "./options.ts";

Deno.test("deno task faults has a default for every option", () => {
  const { seed, ...rest } = parse(PROGRAM, [])!;
  assertEquals(Number.isInteger(seed), true);
  const few = { deployment: "single", client: undefined, handoff: "default", only: [], noFences: false } as const;
  assertEquals(rest, { ...few, minutes: 1, workers: 4, stores: 60 });
  const { minutes, only } = parse(PROGRAM, ["--minutes", "0.5", "--only", "workers paused, failover"])!;
  assertEquals([minutes, only], [0.5, ["workers paused", "failover"]]);
});

Deno.test("deno task faults says which option is wrong, and quotes it", () => {
  const wrong: [args: string[], says: string][] = [
    [["--deployment", "quorum"], "--deployment must be one of single, "],
    [["--client", "jedis"], "--client must be one of ioredis, "],
    [
      ["--client", "upstash", "--deployment", "cluster"],
      '--client must be one that --deployment cluster has: got "upstash", there are ioredis, ioredis5, iovalkey, node-redis, node-redis5',
    ],
    [
      ["--client", "ioredis", "--deployment", "sqlite"],
      '--client must be one that --deployment sqlite has: got "ioredis", there is none, for it is not Redis',
    ],
    [["--minutes", "0"], '--minutes must be a number above 0, up to 1440: got "0"'],
    [["--minutes", "soon"], 'got "soon"'],
    [["--minutes", ""], 'got ""'],
    [["--workers", "0"], '--workers must be a whole number from 1 to 64: got "0"'],
  ];
  for (const [args, says] of wrong) assertThrows(() => parse(PROGRAM, args), Error, says);
});
