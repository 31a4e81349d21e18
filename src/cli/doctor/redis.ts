import { SystemClock } from "../../internal/time/clock.ts";
import { LATE, within } from "../../internal/lease/release.ts";
import { reason } from "../../internal/reason.ts";
import type { Store } from "../../store.ts";
import { clientWarning } from "../../stores/redis/client/client_warning.ts";
import type { RedisNode } from "../../stores/redis/client/client.ts";
import { deleteLock, type ExaminedClient, refusal } from "../../stores/redis/client/doctor_access.ts";
import { error, type Finding, ok, warning } from "./finding.ts";
import { judgeQuorumSkew, judgeSkew, readSkew, type Skew } from "./clock_skew.ts";
import { tryLock } from "./lock_cycle.ts";
import { readInfo, type RedisInfo, type RedisProbe } from "./redis_info.ts";
import { examineServer } from "./redis_server.ts";
import { ADVICE, examineWakeups } from "./redis_wakeups.ts";

/** How long a server may take to answer, in milliseconds. */
const ANSWER_MS = 3_000;

const CLOCK = new SystemClock();

/** A client to examine: of one server, behind Sentinel, or of a Cluster. */
export type RedisPatient = ExaminedClient;

/** What else is known of servers that are examined. */
export interface RedisExamination {
  /** Ends the examination. */
  readonly signal: AbortSignal;
  /** What stands before the names of locks; that of the store by default. */
  readonly prefix?: string | undefined;
  /** Resolves to what is wrong with the address of the client at this place, if that is known. */
  diagnose?(place: number): Promise<string | undefined>;
}

/** What was read of one server. */
interface Examined {
  readonly label: string;
  readonly info: RedisInfo;
  readonly skew: Skew;
}

/**
 * Examines Redis or Valkey.
 *
 * @param clients the client, or those of a quorum; in the order of the labels
 * @param labels what to call each server
 * @param store the store that they are used for
 * @param options what else is known of them
 */
export async function examineRedis(
  clients: readonly RedisPatient[],
  labels: readonly string[],
  store: Store,
  { signal, prefix, diagnose }: RedisExamination,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const examined: Examined[] = [];
  for (const [place, client] of clients.entries()) {
    const label = labels[place] ?? `server ${place + 1}`;
    const misconfigured = clientWarning(client);
    if (misconfigured !== undefined) findings.push(named(badOptions(misconfigured), label));
    const before = examined.length;
    for (const [node, probe] of serversOf(client).entries()) {
      const called = client.isCluster ? `${label}, master ${node + 1}` : label;
      signal.throwIfAborted();
      try {
        const found = await examineOne(client, probe);
        examined.push({ label: called, ...found });
        findings.push(...found.findings.map((each) => named(each, called)));
      } catch (fault) {
        findings.push(named(unreachable(store, fault, await diagnose?.(place)), called));
      }
    }
    if (examined.length === before) continue;
    findings.push(named(await examineWakeups(client), label));
    // A server of a Cluster that is taken for a single one.
    if (!client.isCluster && examined.at(-1)?.info.get("cluster_enabled") === "1") {
      findings.push(named(wrongClient(), label));
    }
  }
  if (clients.length > 1) findings.push(...examineQuorum(examined, clients.length));
  // A lock on servers that are no quorum proves nothing.
  if (findings.some(({ code }) => code === "not-independent")) return findings;
  const remove = (name: string) => Promise.all(clients.map((client) => deleteLock(client, name, prefix)));
  return [...findings, ...await tryLock(store, { signal, advice: ADVICE, remove })];
}

/** Examines one server of a client. */
async function examineOne(
  client: RedisPatient,
  probe: RedisProbe,
): Promise<Omit<Examined, "label"> & { findings: Finding[] }> {
  const findings: Finding[] = [];
  const info = await within(ANSWER_MS, readInfo(probe), CLOCK).catch((error): RedisInfo => {
    const words = refusal(client, error);
    if (words === undefined || !words.includes("NOPERM")) throw error;
    findings.push(secretive(words));
    return new Map();
  });
  const skew = await within(ANSWER_MS, readSkew(probe), CLOCK);
  if (info.size > 0) findings.push(...await examineServer(probe, info));
  return { info, skew, findings: [...findings, judgeSkew(skew)] };
}

/** A user who may not read what the server says of itself. */
function secretive(found: string): Finding {
  return warning(
    "info",
    found,
    "Version, role, memory, persistence and replication of the server are not examined.",
    "Give the user the right that the message names.",
  );
}

/** The servers behind a client. The nodes of a Cluster client are clients too, which take any command. */
function serversOf(client: RedisPatient): readonly RedisProbe[] {
  if (!client.isCluster) return [client];
  return (client.nodes?.("master") ?? []).filter((node): node is RedisNode & RedisProbe => "call" in node);
}

function named(finding: Finding, label: string): Finding {
  return { ...finding, found: `${label}: ${finding.found}` };
}

function badOptions(found: string): Finding {
  return error(
    "client-options",
    found,
    "Calls hang although another server could answer them, or never fail although the service is down.",
    "Set the options that the message names.",
  );
}

function unreachable({ connectionError }: Store, fault: unknown, diagnosis?: string): Finding {
  const late = `no answer within ${ANSWER_MS / 1_000} s${connectionError ? `: ${connectionError.message}` : ""}`;
  return error(
    "unreachable",
    diagnosis ?? (fault === LATE ? late : reason(fault)),
    "No lock can be acquired there.",
    diagnosis === undefined ? "Look at the address, the password, the network and the server." : "Correct the URL.",
  );
}

function wrongClient(): Finding {
  return error(
    "cluster",
    "the server is a node of a Cluster",
    "Locks whose slot lies on another node cannot be acquired (MOVED).",
    "Use redis+cluster://, or new Redis.Cluster() in a program.",
  );
}

/** Examines whether the servers of a quorum fail independently of each other. */
function examineQuorum(examined: readonly Examined[], count: number): Finding[] {
  const findings: Finding[] = [size(count)];
  const seen = new Map<string, string>();
  for (const { label, info } of examined) {
    const id = info.get("run_id") ?? label;
    const other = seen.get(id);
    if (other !== undefined) findings.push(notIndependent(`${label} and ${other} are the same server`));
    seen.set(id, label);
  }
  const ids = new Map(examined.map(({ label, info }) => [`${info.get("master_replid")}`, label]));
  const distinct = new Set(examined.map(({ info }) => info.get("run_id"))).size;
  if (ids.size < distinct) {
    const groups = examined.map(({ label, info }) => `${label} (${info.get("role")})`).join(", ");
    findings.push(notIndependent(`some of them replicate one another: ${groups}`));
  }
  if (examined.length > 1) findings.push(judgeQuorumSkew(examined.map(({ skew }) => skew)));
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

function notIndependent(found: string): Finding {
  return error(
    "not-independent",
    found,
    "One failure takes several votes at once: two holders are possible.",
    "Use independent servers, without replication between them.",
  );
}
