import type { Counts } from "./held_process.ts";

/** What a member counts of itself, by the names of its metrics. */
const METRICS = {
  revisions: "etcd_debugging_mvcc_current_revision",
  database: "etcd_mvcc_db_total_size_in_bytes",
  used: "etcd_mvcc_db_total_size_in_use_in_bytes",
  memory: "process_resident_memory_bytes",
  processor: "process_cpu_seconds_total",
};

/** Calls of the service of keys: reads, writes and transactions. */
const CALLS = /^grpc_server_started_total\{[^}]*grpc_service="etcdserverpb\.KV"[^}]*\} (\S+)$/gm;

/** Returns what a member counts: sizes in bytes, the processor's time in seconds, and the calls of its clients. */
export async function etcdCounts(url: string): Promise<Counts> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = Object.entries(METRICS).map(([name, metric]) => {
    const [, value] = new RegExp(`^${metric} (\\S+)$`, "m").exec(text) ?? [];
    if (value === undefined) throw new Error(`etcd does not count ${metric}`);
    return [name, Number(value)];
  });
  const calls = [...text.matchAll(CALLS)].reduce((sum, [, count]) => sum + Number(count), 0);
  return { ...Object.fromEntries(counts), calls };
}

/** Reads a key with the agreement of a majority. */
export async function read(url: string, key: string): Promise<unknown> {
  return await post(`${url}/v3/kv/range`, { key: btoa(key) });
}

/** The least that a lock in etcd can be: put its key if there is none, and delete it if it has this owner. */
export async function barePair(url: string, name: string): Promise<void> {
  const [key, owner] = [btoa(name), btoa(crypto.randomUUID())];
  const taken = await post(`${url}/v3/kv/txn`, {
    compare: [{ key, target: "CREATE", result: "EQUAL", create_revision: "0" }],
    success: [{ request_put: { key, value: owner } }],
  });
  const freed = await post(`${url}/v3/kv/txn`, {
    compare: [{ key, target: "VALUE", result: "EQUAL", value: owner }],
    success: [{ request_delete_range: { key } }],
  });
  if (!taken.succeeded || !freed.succeeded) throw new Error(`${name} was taken`);
}

async function post(url: string, body: object): Promise<{ readonly succeeded?: boolean }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`etcd answers: ${text}`);
  return JSON.parse(text);
}
