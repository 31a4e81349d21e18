// Deno only: it tests a tool for Deno.
import { findEtcd } from "../../support/etcd.ts";
import { findMariadb } from "../../support/mariadb.ts";
import { findMemcached } from "../../support/memcached_server.ts";
import { findPgbouncer, findPostgres } from "../../support/postgres.ts";
import { findZookeeper } from "../../support/zookeeper.ts";
import type { DeploymentKind } from "./options.ts";
import { shortRun, type ShortRunOptions } from "./short_run.ts";
import "./zookeeper/fault_checks.ts";

/** The deployments: each client and each way of handing on of one server and of Redlock, and what the others need. */
const RUNS: readonly (readonly [DeploymentKind, ShortRunOptions, ...needed: object[]])[] = [
  ["single", { client: "ioredis" }],
  ["single", { client: "node-redis", handoff: "linger" }],
  ["single", { client: "upstash" }],
  ["redlock", {}],
  ["redlock", { handoff: "keep" }],
  ["sentinel", {}],
  ["cluster", {}],
  ["sqlite", {}],
  ["memcached", {}, findMemcached()],
  ["postgres", {}, findPostgres()],
  ["pgbouncer", {}, findPostgres(), findPgbouncer()],
  ["mysql", {}, findMariadb()],
  ["etcd", {}, findEtcd()],
  ["zookeeper", {}, findZookeeper()],
];

for (const [deployment, options, ...needed] of RUNS) {
  Deno.test({
    name: ["Lock keeps its promises under random faults", deployment, ...Object.values(options)].join(", "),
    ignore: needed.some((program) => "missing" in program),
    fn: async () => void await shortRun(deployment, options),
  });
}
