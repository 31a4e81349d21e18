import { choice, flag, list, option, type OptionsOf, program, whole } from "../../support/command_line.ts";
import { HANDOFFS } from "../../simulation/handoff/scenario.ts";

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

/** `deno task faults`. */
export const PROGRAM = program({
  about: `Breaks a real deployment in all the ways that it can, while processes hold locks on it, and checks what they
    saw.`,
  usage: "deno task faults [options]",
  options: {
    deployment: choice<DeploymentKind, DeploymentKind>(
      "D",
      `${REDIS.join(", ")}: Redis; sqlite: a file; memcached: the engine of cas(); postgres: a table of PostgreSQL;
      pgbouncer: the same, through a pooler; mysql: a table of MariaDB; etcd: three members; zookeeper: three servers`,
      DEPLOYMENTS,
      "single",
    ),
    client: choice(
      "C",
      `what the processes reach Redis with (default: ${CLIENTS[0]}): ${CLIENTS.slice(0, 5).join(", ")}; valkey-glide, on
      single and redlock; upstash: HTTP, on single`,
      CLIENTS,
    ),
    minutes: option("M", "how long faults happen", minutesOf, 1),
    seed: {
      ...whole("S", "", { least: 0, default: Date.now() % 2 ** 32 }),
      help: `what determines the faults and what the processes do; the times of both are real ones (default: a new one,
      which is printed)`,
    },
    workers: whole("N", "how many processes hold locks", { least: 1, most: 64, default: 4 }),
    stores: whole(
      "N",
      `how many store objects of all processes together want one name at the same time, now and then, where the engine
      keeps the locks`,
      { least: 0, most: 1_000, default: 60 },
    ),
    handoff: choice(
      "H",
      `how each process hands locks on: none (every handle asks for itself), default (what the store does by itself),
      keep (cohort()), linger (cohort() with linger)`,
      HANDOFFS,
      "default",
    ),
    only: list("A,B", "these kinds of faults only, as the table names them; each of them must happen"),
    noFences: flag("what the locks protect takes every write: counts the updates that fences save"),
  },
  notes:
    `Exit status: 0 when nothing was violated, 1 when something was or a fault did not happen, 2 for a wrong command
    line, 130 when interrupted.`,
  check: ({ client, deployment }) => {
    const there = clientsOf(deployment);
    if (client === undefined || there.includes(client)) return;
    const known = there.length === 0 ? "there is none, for it is not Redis" : `there are ${there.join(", ")}`;
    throw new Error(`--client must be one that --deployment ${deployment} has: got "${client}", ${known}`);
  },
});

/** What the command line asks for. */
export type Options = OptionsOf<typeof PROGRAM>;

function minutesOf(text: string, option: string): number {
  const minutes = Number(text);
  if (text.trim() !== "" && minutes > 0 && minutes <= 1_440) return minutes;
  throw new Error(`${option} must be a number above 0, up to 1440: got "${text}"`);
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
