// Deno only: it tests a tool for Deno.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { parseOptions, usage } from "./options.ts";

Deno.test("parseOptions() reads the command line, and has a default for everything", () => {
  const { minutes, seed, deployment, client, workers, stores, handoff, fences, only, help } = parseOptions([]);
  assertEquals([minutes, deployment, client, workers, stores, handoff, fences, only, help], [
    1,
    "single",
    "ioredis",
    4,
    60,
    "default",
    true,
    [],
    false,
  ]);
  assert(Number.isInteger(seed));
  const line =
    "--minutes 0.5 --seed 7 --deployment cluster --client node-redis --workers 2 --stores 300 --handoff linger --no-fences --only";
  assertEquals(parseOptions([...line.split(" "), "workers paused, failover"]), {
    help: false,
    minutes: 0.5,
    seed: 7,
    deployment: "cluster",
    client: "node-redis",
    workers: 2,
    stores: 300,
    handoff: "linger",
    fences: false,
    only: ["workers paused", "failover"],
  });
});

Deno.test("parseOptions() says which option is wrong, and quotes it", () => {
  const wrong: [args: string[], says: string][] = [
    [
      ["--deployment", "quorum"],
      'Unknown deployment "quorum": there are single, sentinel, cluster, redlock, sqlite, memcached, postgres, pgbouncer, mysql, etcd, zookeeper',
    ],
    [
      ["--client", "jedis"],
      '--client must be one that --deployment single has: got "jedis", there are ioredis, ioredis5, iovalkey, node-redis, node-redis5, valkey-glide, upstash',
    ],
    [
      ["--client", "upstash", "--deployment", "cluster"],
      '--client must be one that --deployment cluster has: got "upstash", there are ioredis, ioredis5, iovalkey, node-redis, node-redis5',
    ],
    [
      ["--client", "ioredis", "--deployment", "sqlite"],
      '--client must be one that --deployment sqlite has: got "ioredis", there is none, for it is not Redis',
    ],
    [["--handoff", "often"], 'Unknown handoff "often": there are none, default, keep, linger'],
    [["--minutes", "0"], '--minutes must be a number above 0, up to 1440: got "0"'],
    [["--minutes", "soon"], 'got "soon"'],
    [["--minutes", ""], 'got ""'],
    [["--seed", "-1"], "--seed"],
    [["--seed=1.5"], '--seed must be a whole number from 0 to 4294967295: got "1.5"'],
    [["--workers", "0"], '--workers must be a whole number from 1 to 64: got "0"'],
    [["--fast"], "--fast"],
    [["single"], "single"],
  ];
  for (const [args, says] of wrong) assertThrows(() => parseOptions(args), Error, says);
});

Deno.test("usage() names every option", () => {
  for (
    const option of [
      "deployment",
      "client",
      "minutes",
      "seed",
      "workers",
      "handoff",
      "only",
      "no-fences",
      "help",
    ]
  ) {
    assert(usage().includes(`--${option}`), option);
  }
});
