import { type Finding, verdicts } from "./finding.ts";
import { numberOf, type RedisInfo, type RedisProbe, replicasOf, setting } from "./redis_info.ts";

/** The oldest version of Redis that runs the scripts. */
const NEEDED = [6, 2] as const;

/** The lag of a replica that is worth a warning, in seconds: a healthy replica acknowledges every second. */
const LAG_LIMIT_S = 3;

/** The part of the memory limit from which the memory is nearly full. */
const FULL = 0.9;

const judged = verdicts({
  "version": {
    ok: ["The scripts run on it."],
    error: [
      "The scripts of the locks use commands that it does not have: acquire() fails.",
      "Use Redis 6.2 or later, or Valkey.",
    ],
  },
  "role": {
    ok: ["It accepts writes."],
    error: [
      "A replica refuses writes, or loses them: no lock can be acquired on it.",
      "Use the URL of the master, or redis+sentinel://, which finds it.",
    ],
  },
  "eviction-policy": {
    error: [
      "When the memory is full the server deletes keys, and a lock is a key with an expiry: somebody else is " +
      "granted a lock that is held, and a deleted counter is only replaced by the server's clock.",
      "Set maxmemory-policy noeviction, or give the locks a server of their own.",
    ],
  },
  "memory": {
    ok: ["No lock is deleted for lack of memory."],
    warning: [
      "When the memory is full the server refuses writes: nobody acquires a lock or renews it.",
      "Raise maxmemory, or give the locks a server of their own.",
    ],
  },
  "persistence": {
    ok: ["After a restart the locks are still held; a crash of the machine may lose the last second."],
    warning: [
      "A restart of the server forgets the locks that are held: others are granted them at once. The former " +
      "holders notice at their next renewal; the fence still rises, because it follows the clock.",
      "Set appendonly yes, or let a restart take longer than the longest lease, or check the fence.",
    ],
    error: [
      "The server refuses writes (MISCONF) or forgets them at a restart: locks can be neither acquired nor kept.",
      "Look at the disk and at the server's log.",
    ],
  },
  "replica-lag": {
    ok: [
      "Replication is asynchronous all the same: a failover may forget the locks of the last moment.",
      "Use the option replicas of redis(), or check the fence, where that matters.",
    ],
    warning: [
      "A failover to a replica that is behind forgets the locks that were granted since.",
      "Look at the network and the load of the replica, or use the option replicas of redis().",
    ],
  },
  "min-replicas": {
    warning: [
      "A master that is cut off from its replicas goes on granting locks while a new master does so too.",
      "Set min-replicas-to-write 1 and min-replicas-max-lag to less than the shortest lease.",
    ],
  },
});

/** Examines the state and the settings of one server. */
export async function examineServer(probe: RedisProbe, info: RedisInfo): Promise<Finding[]> {
  const [policy, save, minReplicas] = await Promise.all([
    setting(probe, "maxmemory-policy"),
    setting(probe, "save"),
    setting(probe, "min-replicas-to-write"),
  ]);
  return [
    version(info),
    role(info),
    memory(info, policy ?? info.get("maxmemory_policy") ?? ""),
    persistence(info, save),
    ...replication(info, minReplicas),
  ];
}

function version(info: RedisInfo): Finding {
  const valkey = info.get("valkey_version");
  const redis = info.get("redis_version") ?? "";
  const [major = 0, minor = 0] = redis.split(".").map(Number);
  const tooOld = valkey === undefined && (major < NEEDED[0] || major === NEEDED[0] && minor < NEEDED[1]);
  const found = valkey === undefined ? `Redis ${redis || "of an unknown version"}` : `Valkey ${valkey}`;
  return judged("version", tooOld ? "error" : "ok", found);
}

function role(info: RedisInfo): Finding {
  const found = `role ${info.get("role") ?? "unknown"}, mode ${info.get("redis_mode") ?? "unknown"}`;
  if (info.get("role") !== "slave") return judged("role", "ok", found);
  return judged("role", "error", `${found}: a replica of ${info.get("master_host")}:${info.get("master_port")}`);
}

function memory(info: RedisInfo, policy: string): Finding {
  const limit = numberOf(info, "maxmemory");
  const used = numberOf(info, "used_memory");
  const found = limit === 0 ? "no memory limit" : `${used} of ${limit} bytes used, maxmemory-policy ${policy}`;
  if (limit > 0 && policy !== "noeviction") return judged("eviction-policy", "error", found);
  return judged("memory", limit > 0 && used > limit * FULL ? "warning" : "ok", found);
}

function persistence(info: RedisInfo, save: string | undefined): Finding {
  const appendOnly = info.get("aof_enabled") === "1";
  const failing = appendOnly && info.get("aof_last_write_status") === "err" ||
    info.get("rdb_last_bgsave_status") === "err";
  const saved = save === undefined ? "snapshots unknown" : save === "" ? "no snapshots" : `snapshots ${save}`;
  const found = `append-only file ${appendOnly ? "on" : "off"}, ${saved}`;
  if (failing) return judged("persistence", "error", `${found}; the last write to the disk failed`);
  return judged("persistence", appendOnly ? "ok" : "warning", found);
}

function replication(info: RedisInfo, minReplicas: string | undefined): Finding[] {
  const replicas = replicasOf(info);
  if (replicas.length === 0) return [];
  const found = replicas.map(({ address, state, lag }) => `${address} ${state}, ${lag} s behind`).join("; ");
  const behind = replicas.some(({ state, lag }) => state !== "online" || lag >= LAG_LIMIT_S);
  const lag = judged("replica-lag", behind ? "warning" : "ok", found);
  return minReplicas === "0" ? [lag, judged("min-replicas", "warning", "min-replicas-to-write 0")] : [lag];
}
