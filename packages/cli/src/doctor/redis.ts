import type { Store } from "@holdfast/lock";
import type { RedisNode } from "@holdfast/lock/redis";
import { deleteLock, type ExaminedClient, refusal } from "./redis_access.ts";
import { SystemClock } from "../time/clock.ts";
import { within } from "../time/within.ts";
import type { ServerClock } from "./clock_skew.ts";
import type { Examined, Patient } from "./examination.ts";
import { type Finding, named, ok, verdicts, warning } from "./finding.ts";
import { readInfo, type RedisInfo, type RedisProbe } from "./redis_info.ts";
import { examineServer } from "./redis_server.ts";
import { ADVICE, examineWakeups } from "./redis_wakeups.ts";
import { ANSWER_MS, unreachable } from "./unreachable.ts";

const CLOCK = new SystemClock();

export type { ExaminedClient };

const judged = verdicts({
  "info": {
    warning: [
      "Version, role, memory, persistence and replication of the server are not examined.",
      "Give the user the right that the message names.",
    ],
  },
  "cluster": {
    error: [
      "Locks whose slot lies on another node cannot be acquired (MOVED).",
      "Use redis+cluster://, or new Redis.Cluster() in a program.",
    ],
  },
  "not-independent": {
    error: [
      "One failure takes several votes at once: two holders are possible.",
      "Use independent servers, without replication between them.",
    ],
  },
});

/** Further knowledge of the examined servers. */
export interface RedisServers {
  /** The names of the clients' servers in findings, in the order of the clients. */
  readonly labels: readonly string[];
  /** The store of the clients. */
  readonly store: Store;
  /** The prefix of the names of locks; by default the store's. */
  readonly prefix?: string | undefined;
  /** Resolves to the fault of the address of a client, if known. */
  diagnose?(place: number): Promise<string | undefined>;
  /** Closes the clients. */
  close?(): Promise<void>;
}

/** The facts read from one server. */
interface ExaminedServer {
  readonly label: string;
  readonly probe: RedisProbe;
  readonly info: RedisInfo;
}

/** Returns Redis or Valkey, to examine it, from its client or the clients of a quorum. */
export function redisPatient(clients: readonly ExaminedClient[], servers: RedisServers): Patient {
  const { store, prefix, close = () => Promise.resolve() } = servers;
  return {
    store,
    advice: ADVICE,
    examine: (signal) => examineServers(clients, servers, signal),
    remove: (name) => Promise.all(clients.map((client) => deleteLock(client, name, prefix))),
    [Symbol.asyncDispose]: close,
  };
}

async function examineServers(
  clients: readonly ExaminedClient[],
  { labels, store, diagnose }: RedisServers,
  signal: AbortSignal,
): Promise<Examined> {
  const findings: Finding[] = [];
  const examined: ExaminedServer[] = [];
  for (const [place, client] of clients.entries()) {
    const label = labels[place] ?? `server ${place + 1}`;
    const before = examined.length;
    for (const [node, probe] of serversOf(client).entries()) {
      const called = client.isCluster ? `${label}, master ${node + 1}` : label;
      signal.throwIfAborted();
      try {
        const found = await examineOne(client, probe);
        examined.push({ label: called, probe, info: found.info });
        findings.push(...found.findings.map((each) => named(each, called)));
      } catch (fault) {
        findings.push(named(unreachable(store, fault, await diagnose?.(place)), called));
      }
    }
    if (examined.length === before) continue;
    findings.push(named(await examineWakeups(client), label));
    // A server of a Cluster that is taken for a single one.
    if (!client.isCluster && examined.at(-1)?.info.get("cluster_enabled") === "1") {
      findings.push(named(judged("cluster", "error", "the server is a node of a Cluster"), label));
    }
  }
  const quorum = clients.length > 1;
  if (quorum) findings.push(...examineQuorum(examined, clients.length));
  const clocks = examined.map(({ label, probe }): ServerClock => ({ label, now: () => timeOf(probe) }));
  // A lock on servers that are no quorum proves nothing.
  return { findings, clocks, quorum, futile: findings.some(({ code }) => code === "not-independent") };
}

/** Examines one server of a client. */
async function examineOne(
  client: ExaminedClient,
  probe: RedisProbe,
): Promise<{ info: RedisInfo; findings: Finding[] }> {
  const info = await within(ANSWER_MS, readInfo(probe), CLOCK).catch((error: unknown) => {
    const words = refusal(client, error);
    if (words === undefined || !words.includes("NOPERM")) throw error;
    return words;
  });
  if (typeof info === "string") return { info: new Map(), findings: [judged("info", "warning", info)] };
  if (info.get("redis_mode") === "sentinel") throw new Error("a Sentinel answers");
  return { info, findings: await examineServer(probe, info) };
}

async function timeOf(probe: RedisProbe): Promise<number> {
  const [seconds, microseconds] = await probe.call("TIME") as [string | number, string | number];
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}

/** Returns the servers behind a client. The nodes of a Cluster client are clients too, which take any command. */
function serversOf(client: ExaminedClient): readonly RedisProbe[] {
  if (!client.isCluster) return [client];
  return (client.nodes?.("master") ?? []).filter((node): node is RedisNode & RedisProbe => "call" in node);
}

/** Examines whether the servers of a quorum fail independently. */
function examineQuorum(examined: readonly ExaminedServer[], count: number): Finding[] {
  const findings: Finding[] = [size(count)];
  const seen = new Map<string, string>();
  for (const { label, info } of examined) {
    const id = info.get("run_id") ?? label;
    const other = seen.get(id);
    if (other !== undefined) {
      findings.push(judged("not-independent", "error", `${label} and ${other} are the same server`));
    }
    seen.set(id, label);
  }
  const ids = new Map(examined.map(({ label, info }) => [`${info.get("master_replid")}`, label]));
  const distinct = new Set(examined.map(({ info }) => info.get("run_id"))).size;
  if (ids.size < distinct) {
    const groups = examined.map(({ label, info }) => `${label} (${info.get("role")})`).join(", ");
    findings.push(judged("not-independent", "error", `some of them replicate one another: ${groups}`));
  }
  return findings;
}

function size(count: number): Finding {
  const found = `a quorum of ${count} servers`;
  if (count >= 3 && count % 2 === 1) {
    return ok("quorum", found, `${(count - 1) / 2} of them may fail.`);
  }
  const tolerated = Math.ceil(count / 2) - 1;
  return warning(
    "quorum",
    found,
    `${tolerated === 0 ? "None" : `Only ${tolerated}`} of them may fail: as many as of ${Math.max(1, count - 1)}.`,
    "Use an odd number of servers, three or more.",
  );
}
