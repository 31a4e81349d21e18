import { parseArgs } from "node:util";
import { oneOf, wholeNumber } from "../../support/command_line.ts";
import { type HandoffName, HANDOFFS } from "../../verification/handoff/scenario.ts";

/** The deployments of Redis. */
const REDIS = ["single", "sentinel", "cluster", "redlock"] as const;

/** The deployments that there are. */
export const DEPLOYMENTS = [
  ...REDIS,
  ...["sqlite", "memcached", "postgres", "pgbouncer", "mysql", "etcd", "zookeeper"] as const,
] as const;

/** What the locks of a run are kept on. */
export type DeploymentKind = typeof DEPLOYMENTS[number];

/** The libraries of clients over which locks on Redis can be kept; the first one is the default. */
export const CLIENTS = [
  "ioredis",
  "ioredis5",
  "iovalkey",
  "node-redis",
  "node-redis5",
  "valkey-glide",
  "upstash",
] as const;

/** A library of clients of Redis. */
export type ClientName = typeof CLIENTS[number];

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly minutes: number;
  readonly seed: number;
  readonly deployment: DeploymentKind;
  /** What the processes reach it with, where it is Redis. */
  readonly client: ClientName;
  readonly workers: number;
  /** How many store objects want one name at the same time, where the engine keeps the locks. */
  readonly stores: number;
  /** How each process hands locks on from one of its handles to the next. */
  readonly handoff: HandoffName;
  /** Whether what the locks protect checks fences. */
  readonly fences: boolean;
  /** The kinds of faults that may happen; all, when it is empty. */
  readonly only: readonly string[];
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    allowPositionals: false,
    options: {
      help: { type: "boolean", default: false },
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: `${Date.now() % 2 ** 32}` },
      deployment: { type: "string", default: "single" },
      client: { type: "string" },
      workers: { type: "string", default: "4" },
      stores: { type: "string", default: "60" },
      handoff: { type: "string", default: "default" },
      "no-fences": { type: "boolean", default: false },
      only: { type: "string", default: "" },
    },
  });
  const minutes = Number(values.minutes);
  if (values.minutes.trim() === "" || !(minutes > 0 && minutes <= 1_440)) {
    throw new Error(`--minutes must be a number above 0, up to 1440: got "${values.minutes}"`);
  }
  const deployment = oneOf("deployment", values.deployment, DEPLOYMENTS);
  return {
    help: values.help,
    minutes,
    seed: wholeNumber("--seed", values.seed, 0),
    deployment,
    client: clientOf(values.client, deployment),
    workers: wholeNumber("--workers", values.workers, 1, 64),
    stores: wholeNumber("--stores", values.stores, 0, 1_000),
    handoff: oneOf("handoff", values.handoff, HANDOFFS),
    fences: !values["no-fences"],
    only: values.only.split(",").map((kind) => kind.trim()).filter((kind) => kind !== ""),
  };
}

/** Returns the client that is wanted; throws an `Error` if the deployment has none of that name. */
function clientOf(name: string | undefined, deployment: DeploymentKind): ClientName {
  const client = CLIENTS.find((each) => each === (name ?? CLIENTS[0]));
  const there = clientsOf(deployment);
  if (name === undefined || there.some((each) => each === client)) return client!;
  const known = there.length === 0 ? "there is none, for it is not Redis" : `there are ${there.join(", ")}`;
  throw new Error(`--client must be one that --deployment ${deployment} has: got "${name}", ${known}`);
}

/** Returns the clients that a deployment can be reached with. */
function clientsOf(deployment: DeploymentKind): readonly ClientName[] {
  if (!REDIS.some((name) => name === deployment)) return [];
  return CLIENTS.filter((name) => {
    if (name === "valkey-glide") return deployment === "single" || deployment === "redlock";
    // HTTP knows one database, and of three the run would ask more than its front can answer.
    return name !== "upstash" || deployment === "single";
  });
}

/** Returns what `--help` prints. */
export function usage(): string {
  return `Breaks a real deployment in all the ways that it can, while processes hold locks on it, and checks what they saw.

Usage: deno task faults [options]

  --deployment D   ${REDIS.join(", ")}: Redis; sqlite: a file; memcached: the engine of cas();
                   postgres: a table of PostgreSQL; pgbouncer: the same, through a pooler; mysql: a table of MariaDB;
                   etcd: three members; zookeeper: three servers (default: single)
  --client C       what the processes reach Redis with (default: ${CLIENTS[0]}): ${CLIENTS.slice(0, 3).join(", ")},
                   ${CLIENTS.slice(3, 5).join(", ")}; valkey-glide, on single and redlock; upstash: HTTP, on single
  --minutes M      how long faults happen (default: 1)
  --seed S         what determines the faults and what the processes do; the times of both are real ones
                   (default: a new one, which is printed)
  --workers N      how many processes hold locks (default: 4)
  --stores N       how many store objects of all processes together want one name at the same time, now and then, where
                   the engine keeps the locks (default: 60)
  --handoff H      how each process hands locks on (default: default): none (every handle asks for itself), default
                   (what the store does by itself), keep (cohort()), linger (cohort() with linger)
  --only A,B       these kinds of faults only, as the table names them; each of them must happen
  --no-fences      what the locks protect takes every write: counts the updates that fences save
  --help           this text

Exit status: 0 when nothing was violated, 1 when something was or a fault did not happen, 2 for a wrong command
line, 130 when interrupted.`;
}
