import { reason } from "@holdfast/lock/authors";
import type { EtcdOptions, EtcdStore } from "@holdfast/lock/etcd";
import { EtcdMember, type MemberStatus } from "./etcd_member.ts";
import type { Examined, Patient } from "./examination.ts";
import { error, type Finding, ok, warning } from "./finding.ts";
import { unreachable } from "./unreachable.ts";

/** The default limit of the database, in bytes. */
const DEFAULT_QUOTA = 2 * 1024 ** 3;

/** The part of the limit from which a size is worth a warning. */
const LARGE = 0.8;

/** The number of kept revisions from which etcd is probably never compacted. */
const MANY_REVISIONS = 10_000;

/**
 * The largest difference between clocks that is no warning, in milliseconds: a header has whole seconds. No lock
 * depends on it.
 */
const CLOCK_WARN_MS = 2_000;

/** A revision that no key has: a transaction that compares it changes nothing, but etcd checks its rights. */
const NEVER = "9223372036854775807";

/** The options of the store of a cluster that is examined. */
export type ExaminedCluster = EtcdOptions & { readonly prefix: string };

/** Returns a cluster, to examine it. */
export function etcdPatient(store: EtcdStore, options: ExaminedCluster): Patient {
  const members = options.endpoints.map((url) => new EtcdMember(url));
  return {
    store,
    advice: { failed: () => undefined, unwoken: "Look at what lies between here and the cluster." },
    examine: () => examineCluster(store, members, options),
    // One may be down.
    remove: (name) =>
      Promise.any(
        members.map((member) => member.call("/v3/kv/deleterange", { key: base64Of(`${options.prefix}${name}`) })),
      ),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Examines the properties of etcd. After an error, further findings and a trial lock would prove nothing. */
async function examineCluster(
  store: EtcdStore,
  members: readonly EtcdMember[],
  options: ExaminedCluster,
): Promise<Examined> {
  const asked = await Promise.allSettled(members.map((member) => statusOf(member)));
  const states = asked.flatMap((each) => each.status === "fulfilled" ? [each.value] : []);
  const faults = asked.flatMap((each) => each.status === "rejected" ? [reason(each.reason)] : []);
  const answering = members.filter((_, i) => asked[i]!.status === "fulfilled");
  const [first] = answering;
  if (first === undefined) return { findings: [unreachable(store, new Error(faults[0]))], futile: true };
  // judgeRights() reports a login that fails.
  await Promise.allSettled(answering.map((member) => member.login(options)));
  const findings: Finding[] = [];
  for (
    const examine of [
      () => judgeQuorum(first, states, faults),
      () => answering.map(judgeClock),
      () => judgeAuth(first),
      () => judgeQuota(first, states, options),
      () => judgeRights(first, options),
      () => judgeWakeups(first, options),
    ]
  ) {
    findings.push(...await examine());
    if (findings.some(({ level }) => level === "error")) return { findings, futile: true };
  }
  return { findings };
}

async function statusOf(member: EtcdMember): Promise<MemberStatus> {
  const status = await member.call<MemberStatus>("/v3/maintenance/status", {});
  if (status.version === undefined) throw new Error(`${member.url} does not answer as etcd does`);
  return status;
}

async function judgeQuorum(
  member: EtcdMember,
  states: readonly MemberStatus[],
  faults: readonly string[],
): Promise<Finding[]> {
  const { members } = await member.call<{ members: readonly unknown[] }>("/v3/cluster/member/list", {});
  const found = `${members.length} ${members.length === 1 ? "member" : "members"}, etcd ${states[0]!.version}`;
  if (states.every(({ leader }) => leader === undefined)) {
    const advice = "Start the members that are down, or look at the network between them.";
    return [error("quorum", `${found}, and no leader`, "No majority agrees: nobody can acquire a lock.", advice)];
  }
  const silent = faults.map((fault) =>
    warning("quorum", fault, "A member is down: the loss of more of them stops all locks.", "Start it.")
  );
  if (members.length % 2 === 1) return [ok("quorum", found, "The number of members is odd."), ...silent];
  const meaning = "With one member less the cluster would stand the loss of as many.";
  return [warning("quorum", found, meaning, "Add a member, or remove one."), ...silent];
}

function judgeClock({ url, skew }: EtcdMember): Finding {
  const advice = "Synchronize the clocks of all machines (NTP).";
  if (Number.isNaN(skew)) {
    return warning("clock", `${url} did not tell its time`, "It is not known whether the clocks agree.", advice);
  }
  const where = skew < 0 ? "behind" : "ahead of";
  const found = `the clock of ${url} is ${Math.round(Math.abs(skew) / 1_000)} s ${where} this machine's, ± 1 s`;
  if (Math.abs(skew) < CLOCK_WARN_MS) return ok("clock", found, "The clocks agree.");
  const meaning =
    "Listings show leases as longer or shorter than they are, and fences are ahead of the time. No lock " +
    "is granted by these clocks.";
  return warning("clock", found, meaning, advice);
}

/** Judges whether a client without a user may read. */
async function judgeAuth({ url }: EtcdMember): Promise<Finding[]> {
  try {
    await new EtcdMember(url).call("/v3/kv/range", { key: base64Of("holdfast doctor") });
  } catch (fault) {
    return [ok("auth", reason(fault), "Nobody reads or writes without a user.")];
  }
  const meaning = "Everybody who reaches the cluster can take locks away, and remove fences.";
  const advice = "Make a user with a role, as the documentation of etcd() shows, then run: etcdctl auth enable.";
  return [warning("auth", "authentication is off", meaning, advice)];
}

/** Logs in, and checks the rights for all requests of the store, without a change. */
async function judgeRights(member: EtcdMember, options: ExaminedCluster): Promise<Finding[]> {
  const { prefix } = options;
  const [key, end] = [base64Of(prefix), base64Of(`${prefix}\u{10ffff}`)];
  const compare = [{ key, target: "MOD", result: "EQUAL", "mod_revision": NEVER }];
  const success = [
    { "request_range": { key, "range_end": end, limit: 1 } },
    // etcd wants another key than those that are deleted.
    { "request_put": { key: end } },
    { "request_delete_range": { key, "range_end": end } },
  ];
  try {
    await member.login(options);
    await member.call("/v3/kv/txn", { compare, success });
    return [ok("rights", `the keys under ${prefix} may be read and written`, "Programs with this user can use locks.")];
  } catch (fault) {
    const grant = `Run: etcdctl role grant-permission ROLE readwrite --prefix=true '${prefix}'`;
    const advice = /permission denied/.test(reason(fault)) ? grant : "Correct the user and the password.";
    return [error("rights", reason(fault), "Programs with this user cannot acquire locks.", advice)];
  }
}

/** Judges the size of the database, and whether old revisions are removed. */
async function judgeQuota(
  member: EtcdMember,
  states: readonly MemberStatus[],
  { prefix }: ExaminedCluster,
): Promise<Finding[]> {
  const quota = await member.metric("etcd_server_quota_backend_bytes") ?? DEFAULT_QUOTA;
  const size = Math.max(...states.map(({ dbSize = 0 }) => Number(dbSize)));
  const found = `the database has ${megabytes(size)} of ${megabytes(quota)} MB`;
  const meaning = "When it is full nobody can acquire, renew or release a lock.";
  const room = "Run etcdctl compact REVISION and etcdctl defrag";
  if (states.some(({ errors }) => errors?.some((each) => each.includes("NOSPACE")))) {
    return [error("quota", `${found}, alarm NOSPACE`, meaning, `${room}, then: etcdctl alarm disarm.`)];
  }
  if (size > quota * LARGE) return [warning("quota", found, meaning, `${room}, or raise the quota.`)];
  const revisions = await keptRevisions(member, prefix);
  if (revisions < MANY_REVISIONS) return [ok("quota", found, "There is room.")];
  const kept = `all ${revisions} revisions are kept: nothing compacts them`;
  const advice = "Start the members with --auto-compaction-mode=periodic --auto-compaction-retention=5m.";
  return [warning("quota", `${found}, ${kept}`, `Each renewal is a revision. ${meaning}`, advice)];
}

/** Resolves to the number of kept revisions; 0 if the first revisions were compacted away. */
async function keptRevisions(member: EtcdMember, prefix: string): Promise<number> {
  try {
    const body = { key: base64Of(prefix), revision: "1" };
    const { header } = await member.call<{ header: { revision: string } }>("/v3/kv/range", body);
    return Number(header.revision);
  } catch {
    return 0;
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

/** Examines whether a watch begins: a proxy may hold back the stream. */
async function judgeWakeups(member: EtcdMember, { prefix }: ExaminedCluster): Promise<Finding[]> {
  try {
    await member.watches(base64Of(prefix));
    return [ok("wake-up", "a watch has begun", "Waiters are woken.")];
  } catch (fault) {
    const advice = "Look for a proxy that buffers what is streamed.";
    return [warning("wake-up", reason(fault), "Waiters are not woken: they poll, within 500 ms.", advice)];
  }
}

/** Returns a text as UTF-8 in base64. */
function base64Of(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));
}
