/**
 * A user's program that has something to do with every export. It is compiled, never run: it shows that the types of
 * the packed package are what TypeScript needs, with clients of both versions of ioredis.
 *
 * @module
 */
import {
  acquire,
  acquireAll,
  type AcquireOptions,
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  type Conflict,
  type Entry,
  type EventSubject,
  type EvictOptions,
  type GaveUpReason,
  type Granted,
  type HolderEntry,
  type Inspection,
  isLockLost,
  type Kind,
  type ListingStore,
  type Lock,
  LockConflictError,
  LockError,
  type LockErrorCode,
  type LockEvent,
  LockLostError,
  type LockTarget,
  LockTimeoutError,
  type LossReason,
  type Meta,
  type Mode,
  type MultiLock,
  type NodeFailure,
  type Observer,
  type QueryOptions,
  QuorumError,
  type QuorumNode,
  type RedisClient,
  type Renewal,
  type Snapshot,
  type Store,
  StoreError,
  type StoreErrorOptions,
  tryAcquire,
  type TryAcquireOptions,
  type Vote,
  type VoteOptions,
  type WaiterEntry,
  withLock,
} from "@holdfast/lock";
import {
  checkArguments,
  checkKeys,
  checkMilliseconds,
  handleOf,
  isPermanent,
  nameFilter,
  reason,
  show,
  storeError,
  storeOf,
} from "@holdfast/lock/authors";
import {
  type Backend,
  cas,
  type CasOptions,
  type FoundDocument,
  type KeyVersion,
  type ListedDocuments,
  type ServerTimers,
  type WatchedDocument,
  type WatchOptions,
  type WriteOptions,
  type WriteResult,
} from "@holdfast/lock/cas";
import { type InMemoryStore, memory, type MemoryOptions } from "@holdfast/lock/memory";
import {
  type BunRedisClient,
  type IoredisClient,
  keysOf,
  type LacksOfIoredis,
  type NodeRedisClient,
  type NodeRedisScriptOptions,
  redis,
  type RedisNode,
  type RedisOptions,
  type RedisPipeline,
  type RedisStore,
  type RedisSubscriber,
  type ReplicasOptions,
  type ValkeyGlideClient,
} from "@holdfast/lock/redis";
import { type Environment, main } from "@holdfast/cli";
import { type Cohort, cohort, type CohortOptions } from "@holdfast/lock/cohort";
import {
  type DenoKv,
  denoKv,
  type DenoKvAtomic,
  type DenoKvEntry,
  type DenoKvList,
  type DenoKvOptions,
  type DenoKvStore,
} from "@holdfast/lock/deno-kv";
import { type Dashboard, dashboard, type DashboardOptions, type EvictionRight } from "@holdfast/cli/dashboard";
import {
  durableObject,
  type DurableObjectOptions,
  type LockNamespace,
  LockObject,
  type LockObjectRequest,
  type LockObjectState,
  type LockObjectStorage,
  type LockStub,
} from "@holdfast/lock/durable-object";
import {
  upstash,
  type UpstashClient,
  type UpstashFetch,
  type UpstashOptions,
  type UpstashRequest,
  type UpstashResponse,
} from "@holdfast/lock/upstash";
import {
  etcd,
  type EtcdFetch,
  type EtcdOptions,
  type EtcdRequest,
  type EtcdResponse,
  type EtcdStore,
} from "@holdfast/lock/etcd";
import {
  type PgClient,
  type PgliteClient,
  type PgPool,
  postgres,
  type PostgresClient,
  type PostgresJsClient,
  type PostgresOptions,
  type PostgresStore,
  type QueryClient,
  type SqlRow,
  type UnsafeClient,
} from "@holdfast/lock/postgres";
import {
  type DrizzleTransaction,
  guard,
  type GuardedLock,
  type KnexTransaction,
  type KyselyTransaction,
  type MikroOrmTransaction,
  type MysqlCallbackTransaction,
  type MysqlTransaction,
  type OrmTransaction,
  type PostgresJsTransaction,
  type PostgresTransaction,
  type PrismaTransaction,
  type SequelizeTransaction,
  type SqliteTransaction,
  type Transaction,
} from "@holdfast/lock/guard";
import {
  mysql,
  type MysqlCallbackPool,
  type MysqlOptions,
  type MysqlPool,
  type MysqlQuery,
  type MysqlStore,
} from "@holdfast/lock/mysql";
import {
  nodeOf,
  zookeeper,
  type ZookeeperAcl,
  type ZookeeperClient,
  type ZookeeperDone,
  type ZookeeperOptions,
  type ZookeeperStat,
  type ZookeeperStore,
  type ZookeeperTransaction,
} from "@holdfast/lock/zookeeper";
import { redlock, type RedlockOptions } from "@holdfast/lock/redlock";
import {
  otel,
  type OtelAttributes,
  type OtelCounter,
  type OtelHistogram,
  type OtelLink,
  type OtelMeter,
  type OtelMetricOptions,
  type OtelObservable,
  type OtelObservableResult,
  type OtelOptions,
  type OtelSpan,
  type OtelSpanContext,
  type OtelSpanOptions,
  type OtelTrace,
  type OtelTracer,
  type QueryableStore,
  traceMeta,
} from "@holdfast/otel";
import { sqlite, type SqliteOptions, type SqliteStore } from "@holdfast/lock/sqlite";
import { type StoreFixture, storeSuite, type StoreSuiteOptions } from "@holdfast/testing";
import {
  type LockGrantedCallback,
  type LockInfo,
  LockManager,
  type LockManagerOptions,
  type LockManagerSnapshot,
  type LockOptions,
  type WebLock,
} from "@holdfast/lock/web-locks";
import Redlock, {
  ExecutionError,
  type ExecutionResult,
  type ExecutionStats,
  Lock as CompatLock,
  type Redlock as NamedRedlock,
  type RedlockAbortSignal,
  type RedlockCallback,
  type RedlockEmitter,
  type RedlockEvent,
  type RedlockListener,
  type RedlockRoutine,
  type RedlockUsingContext,
  ResourceLockedError,
  type Settings,
} from "@holdfast/compat/redlock";
import {
  defaultTimeoutOptions,
  type LockLostCallback,
  type LockOptions as MutexOptions,
  LostLockError,
  Mutex,
  RedlockMutex,
  type RedlockMutexOptions,
  Semaphore,
  type SemaphoreLock,
  TimeoutError,
  type TimeoutOptions,
} from "@holdfast/compat/redis-semaphore";
import { metrics, trace } from "@opentelemetry/api";
import { Cluster as Cluster6, Redis as Redis6 } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { Redis as Valkey } from "iovalkey";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import { createClient as createClient5, createCluster as createCluster5 } from "redis5";
import { GlideClient } from "@valkey/valkey-glide";

const clients: RedisClient[] = [
  new Redis6(),
  new Redis5(),
  new Cluster6([{ host: "127.0.0.1", port: 7000 }]),
  new Cluster5([{ host: "127.0.0.1", port: 7000 }]),
  new Redis6({ sentinels: [{ host: "127.0.0.1", port: 26379 }], name: "main" }),
  new Valkey(),
  createClient(),
  createClientPool(),
  createCluster({ rootNodes: [] }),
  createSentinel({ name: "main", sentinelRootNodes: [] }),
  createClient5({ RESP: 3 }),
  createCluster5({ rootNodes: [] }),
];
const ofGlide: ValkeyGlideClient = await GlideClient.createClient({ addresses: [{ host: "127.0.0.1" }] });
clients.push(ofGlide);
const shaped: IoredisClient = new Redis6();
const script: NodeRedisScriptOptions = { keys: ["a"], arguments: [] };
const ofNodeRedis: NodeRedisClient = createClient();

/** `new RedisClient()` of Bun. */
export const onBun = (client: BunRedisClient): Promise<Lock> => acquire(client, "a");
const lacks: LacksOfIoredis = ofNodeRedis;
console.log(shaped.status, lacks.status, ofNodeRedis.isOpen, ofNodeRedis.eval("return 1", script));
const node6: RedisNode = new Redis6();
const pipeline: RedisPipeline | undefined = clients[0]?.pipeline?.();
console.log(node6.status, pipeline?.exec());
const subscriber: RedisSubscriber = new Redis6();
subscriber.disconnect();

const observer: Observer = (event: LockEvent) => {
  const { name, handle, mode }: EventSubject = event;
  console.log(name, handle, mode);
  if (event.type === "acquired") console.log(event.fence + 1n, event.waited.toFixed());
  if (event.type === "gave_up") ends.push(event.reason);
  if (event.type === "lost") losses.push(event.reason);
};
const ends: GaveUpReason[] = [];
const losses: LossReason[] = [];
const meta: Meta = { job: "import" };
const replicas: ReplicasOptions = { min: 1, timeout: 500 };
const mode: Mode = "exclusive";
const common: TryAcquireOptions = { lease: 30_000, renew: 1_000, mode, strict: false, signal: undefined, meta };
const options: AcquireOptions = { ...common, wait: 5_000 };

/** Takes a lock in each of the ways. */
export async function use(): Promise<void> {
  for (const client of [new Redis6(), new Redis5(), ...clients]) {
    await using lock = await acquire(client, "invoice:42", options);
    const fence: bigint = lock.fence;
    const signal: AbortSignal = lock.signal;
    await fetch("https://example.com", { signal, headers: { fence: String(fence) } });
  }
  await using quorum = await acquire([new Redis6(), new Redis5(), new Redis6()], "invoice:42");
  console.log(quorum.remaining().toFixed(), quorum.held, quorum.name, quorum.owner, quorum.mode);
  const maybe: Lock | null = await tryAcquire(clients, "nightly-report", common);
  await maybe?.extend(60_000);
  await maybe?.release();
  using file: SqliteStore = sqlite("locks.db", { observer } satisfies SqliteOptions);
  const node: RedisStore = redis(new Redis6(), { prefix: "billing:", replicas, observer } satisfies RedisOptions);
  const [listing, other]: ListingStore[] = [node, file];
  console.log(
    await node.evict("a", { meta: false } satisfies EvictOptions),
    (await listing!.query()).held.length,
    (await other!.query()).pending.length,
  );
  const nodes = redlock(
    [node, new Redis5(), new Redis6()],
    { nodeTimeout: 200, driftFactor: 0.02 } satisfies RedlockOptions,
  );
  await using shared: Cohort = cohort(clients, { keep: 20, linger: 5 } satisfies CohortOptions);
  const targets: LockTarget[] = [
    file,
    node,
    nodes,
    shared,
    memory({ observer } satisfies MemoryOptions) satisfies InMemoryStore,
    cas(new NoDocuments(), { maxClockSkew: 5_000, observer } satisfies CasOptions),
    durableObject(new Objects(), { observer } satisfies DurableObjectOptions),
    own,
    ...clients,
    clients,
  ];
  for (const target of targets) {
    await using lock = await acquire(target, "a");
    console.log(lock.held);
  }
}

/** A class of Durable Objects with a route of its own. */
export class ReportLock extends LockObject {
  readonly #storage: LockObjectStorage;

  constructor(state: LockObjectState, env: unknown) {
    super(state, env);
    this.#storage = state.storage;
  }

  override async fetch(request: LockObjectRequest): Promise<Response> {
    const response = await super.fetch(request);
    console.log(response.status, (await this.#storage.getAlarm())?.toFixed());
    return response;
  }
}

/** A binding. */
class Objects implements LockNamespace {
  idFromName(name: string): string {
    return name;
  }

  get(_id: unknown): LockStub {
    return { fetch: (url, init) => fetch(url, init) };
  }
}

/** Shows the locks in a browser. */
export async function look(request: Request): Promise<Response> {
  const evict: EvictionRight = ({ headers }) => headers.get("x-user") === "operator";
  using pages: Dashboard = dashboard(own, { title: "Locks", evict, refresh: 1_000 } satisfies DashboardOptions);
  return await pages(request);
}

/** Takes several locks, and lists all. */
export async function several(): Promise<void> {
  const sum: number = await withLock(own, "a", { wait: 100 }, (lock: Lock) => Promise.resolve(Number(lock.fence)));
  const text: string = await withLock(own, "a", () => "text");
  console.log(sum, text);
  await using locks: MultiLock = await acquireAll(own, ["a", "b"], { mode: "shared", wait: 100 });
  console.log(locks.names.length, locks.fences.get("a"), locks.signal.aborted);
  const page: QueryOptions = { match: "invoice:*", limit: 100 };
  const { held, pending, cursor }: Snapshot = await own.query?.(page) ?? { held: [], pending: [] };
  const entries: Entry[] = [...held, ...pending];
  const expires = held.map(({ expiresIn, fence }: HolderEntry) => `${expiresIn?.toFixed()} ${(fence ?? 0n) + 1n}`);
  console.log(cursor?.length, expires, pending.map(({ rank }: WaiterEntry) => rank.toFixed()));
  const kinds: Kind[] = entries.map(({ mode, permits }) => permits ?? mode);
  const capabilities: readonly Capability[] = own.capabilities ?? [];
  const granted: Granted = { granted: true, fence: 1n };
  console.log(kinds, capabilities, granted);
}

/** A tool around locks. */
export async function tool(claim: Claim): Promise<void> {
  checkArguments(claim.name, options);
  const store: Store = await storeOf(clients);
  const keys: string[] = keysOf(new Redis6(), claim.name, { prefix: "billing:" });
  const node: string = await nodeOf(claim.name);
  const { every = 500 } = checkKeys<{ every?: number }>({}, ["every"], (key) => `${show(key)} is old: `);
  checkMilliseconds("every", every, 10);
  const fault: Error = storeError(store, "Cannot list", new Error("gone"));
  console.log(isPermanent(fault), reason(fault), nameFilter({ match: "a*" })("ab") satisfies boolean);
  console.log(handleOf(claim), keys.length, node, await store.query?.({ name: claim.name }));
}

/** Uses the Web Locks API. */
export async function webLocks(options: LockManagerOptions): Promise<void> {
  const locks = new LockManager(own, options);
  const callback: LockGrantedCallback<number> = (lock: WebLock | null) => Number(lock?.fence ?? 0n);
  const asked: LockOptions = { mode: "shared", ifAvailable: true };
  const sum: number = await locks.request("a", asked, callback);
  const { held }: LockManagerSnapshot = await locks.query();
  const names: string[] = held.map((info: LockInfo) => info.name);
  console.log(sum, names);
}

/** Observes locks with OpenTelemetry. */
export function telemetry(store: QueryableStore): Observer[] {
  const [meter, tracer]: [OtelMeter, OtelTracer] = [metrics.getMeter("app"), trace.getTracer("app")];
  const known: OtelTrace = trace;
  const meta: Readonly<Record<string, string>> = traceMeta(known);
  const attributes: OtelAttributes = { ...meta, count: 1 };
  const description: OtelMetricOptions = { description: "of mine", unit: "s" };
  const counter: OtelCounter = meter.createCounter("mine", description);
  const histogram: OtelHistogram = meter.createHistogram("mine", description);
  const gauge: OtelObservable = meter.createObservableGauge("mine");
  gauge.addCallback((result: OtelObservableResult) => result.observe(1));
  counter.add(1, attributes);
  histogram.record(1);
  const span: OtelSpan = tracer.startSpan("mine", { attributes } satisfies OtelSpanOptions);
  const context: OtelSpanContext = span.spanContext();
  const link: OtelLink = { context };
  tracer.startSpan("mine", { links: [link] }).end();
  const options: OtelOptions = { meter, tracer, group: (name) => name.split(":")[0], links: () => store };
  return [otel(options), otel({ meter: metrics.getMeter("app"), tracer: trace.getTracer("app"), links: store })];
}

/** What stands against a claim. */
export function why(attempt: Attempt): Conflict | undefined {
  return "conflict" in attempt ? attempt.conflict : undefined;
}

/** What an error tells. */
export function explain(error: unknown): LockErrorCode | undefined {
  if (isLockLost(error)) return "lost";
  if (error instanceof QuorumError) {
    const failures: readonly NodeFailure[] = error.failures;
    for (const { index, address, error } of failures) console.log(index.toFixed(), address?.length, error);
  }
  if (error instanceof LockTimeoutError || error instanceof LockLostError) {
    const code: "timeout" | "lost" = error.code;
    return code;
  }
  if (error instanceof LockConflictError) console.log(error.message);
  const permanent: StoreErrorOptions = { permanent: true };
  if (error instanceof StoreError) console.log(error.cause, error.permanent === permanent.permanent);
  return error instanceof LockError ? error.code : undefined;
}

/** What a node of a quorum says of a lock. */
export async function stateOn(node: QuorumNode, claim: Claim): Promise<Inspection["state"]> {
  const { state, counter }: Inspection = await node.inspect(claim);
  return counter > 0n ? state : "free";
}

/** A store of one's own. */
export const own: Store = {
  attempt: (claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> =>
    Promise.resolve(enqueue ? { granted: false, retryAfter: claim.lease } : { granted: true, fence: 1n }),
  renew: (): Promise<Renewal> => Promise.resolve("renewed"),
  release: () => Promise.resolve(true),
  drift: (lease) => lease / 100,
};

/** Where the engine keeps its documents. */
class NoDocuments implements Backend<number> {
  read(): Promise<FoundDocument<number>> {
    return Promise.resolve({ value: undefined, version: 0 });
  }
  write(_key: string, value: string, version: number, { notBefore = 0 }: WriteOptions): Promise<WriteResult<number>> {
    return Promise.resolve(notBefore > 0 ? { written: false } : { written: true, version: version + value.length });
  }
  list(): Promise<ListedDocuments<number>> {
    return Promise.resolve({ documents: [] });
  }
  remove(documents: readonly KeyVersion<number>[]): Promise<number> {
    return Promise.resolve(documents.length);
  }
  readonly timers: ServerTimers = {
    start: (ms, signal) => Promise.resolve(signal.aborted ? "" : `a timer of ${ms} ms`),
    areOver: (names) => Promise.resolve(names.map(() => true)),
  };
  watch(_key: string, version: number, _: AbortSignal, { isWaited }: WatchOptions): Promise<WatchedDocument<number>> {
    return Promise.resolve({ value: undefined, version: isWaited ? version + 1 : version });
  }
}

/** Takes a lock in a Deno KV. */
export async function inDenoKv(kv: DenoKv, atomic: DenoKvAtomic): Promise<void> {
  const options: DenoKvOptions = { prefix: "locks", maxClockSkew: 5_000, observer };
  const store: DenoKvStore = denoKv({ ...kv, atomic: () => atomic }, options);
  await using lock = await acquire(store, "a");
  console.log(lock.held, await store.evict("a"), (await store.query()).held.length);
  const listed: DenoKvList = kv.list({ prefix: ["locks"] }, { limit: 1, consistency: "strong" });
  for await (const { key, versionstamp } of listed) console.log(key.length, versionstamp?.length);
  const entry: DenoKvEntry = await kv.get(["locks", "a"], { consistency: "strong" });
  console.log(entry.value);
}

/** Takes a lock in PostgreSQL. */
export async function inPostgres(
  clients: readonly (PostgresJsClient | PgPool | PgliteClient)[],
  listener: PgClient,
): Promise<void> {
  const row: SqlRow = { version: null };
  const query: QueryClient = { query: (text) => Promise.resolve({ rows: text === "" ? [] : [row] }) };
  const unsafe: UnsafeClient = { unsafe: async (text) => (await query.query(text)).rows };
  const options: PostgresOptions = { schema: "app", table: "locks", listen: () => listener, maxClockSkew: 0, observer };
  const all: readonly PostgresClient[] = [...clients, query];
  for (const client of all) {
    const store: PostgresStore = postgres(client, options);
    await using lock = await acquire(store, "a");
    console.log(lock.held, await store.evict("a"), (await store.query()).held.length, await unsafe.unsafe(""));
  }
}

/** Takes a lock in etcd. */
export async function inEtcd(): Promise<void> {
  const own: EtcdFetch = (url: string, request: EtcdRequest): Promise<EtcdResponse> => fetch(url, request);
  const endpoints = ["https://127.0.0.1:2379"];
  const options: EtcdOptions = { endpoints, username: "app", password: "a", prefix: "a/", observer };
  const rest: UpstashFetch = (url: string, request: UpstashRequest): Promise<UpstashResponse> => fetch(url, request);
  const database: UpstashOptions = { url: "https://db.example.com", token: "t", fetch: rest };
  const overHttp: UpstashClient = upstash(database);
  await using _overHttp = await acquire(redis(overHttp, { prefix: "a:" }), "invoice:42");
  const stores: EtcdStore[] = [etcd(options), etcd({ endpoints, token: () => "a", fetch: own, observer })];
  await using lock = await acquire(stores[0]!, "a");
  console.log(lock.held, await stores[1]!.evict("a"), (await stores[1]!.query()).held.length);
}

/** Takes a lock in a table of MySQL, and guards a transaction with it. */
export async function inMysql(pool: MysqlPool, callbacks: MysqlCallbackPool, tx: Transaction): Promise<void> {
  const options: MysqlOptions = { table: "locks", maxClockSkew: 5_000, observer };
  const stores: MysqlStore[] = [mysql(pool, options), mysql(callbacks)];
  await using lock = await acquire(stores[0]!, "a");
  console.log(await stores[1]!.evict("a"), (await stores[1]!.query()).held.length, lock.permits?.toFixed());
  const guarded: GuardedLock = lock;
  await guard(tx, guarded);
  const { sql }: Pick<MysqlQuery, "sql"> = { sql: "SELECT 1" };
  console.log(sql);
}

/** Takes a lock in ZooKeeper. */
export async function inZookeeper(client: ZookeeperClient, stat: ZookeeperStat, acl: ZookeeperAcl): Promise<void> {
  const options: ZookeeperOptions = { path: "/app/locks", observer };
  const store: ZookeeperStore = zookeeper(client, options);
  await using lock = await acquire(store, "a");
  console.log(lock.held, await store.evict("a"), (await store.query()).held.length, stat.version, acl.id.scheme);
  const done: ZookeeperDone = (error) => console.log(error);
  const transaction: ZookeeperTransaction = client.transaction();
  transaction.commit(done);
}

const execute = () => Promise.resolve();

/** What can be guarded of those who build the SQL. */
export const built: OrmTransaction[] = [
  { executeQuery: () => Promise.resolve({ rows: [] }) } satisfies KyselyTransaction,
  { execute, rollback: () => {} } satisfies DrizzleTransaction,
  { raw: execute } satisfies KnexTransaction,
  { $queryRawUnsafe: execute } satisfies PrismaTransaction,
  { afterCommit: (run) => run() } satisfies SequelizeTransaction,
  { getTransactionContext: () => ({}), execute } satisfies MikroOrmTransaction,
];

/** What can be guarded. */
export const transactions: Transaction[] = [
  ...built,
  { unsafe: () => Promise.resolve([]) } satisfies PostgresJsTransaction,
  { query: () => Promise.resolve({ rows: [] }) } satisfies PostgresTransaction,
  { query: () => Promise.resolve([]), beginTransaction: () => Promise.resolve() } satisfies MysqlTransaction,
  {
    promise: () => ({ query: () => Promise.resolve([]), beginTransaction: () => Promise.resolve() }),
  } satisfies MysqlCallbackTransaction,
  { exec: () => {}, prepare: () => ({ run: () => ({ changes: 1 }) }) } satisfies SqliteTransaction,
];

/** How a quorum asks. */
export function vote(node: QuorumNode, claim: Claim, options: VoteOptions): Promise<Vote> {
  return node.vote(claim, { ...options, guess: 1n });
}

const suite: StoreSuiteOptions = {
  test: (name, run) => void console.log(name, run),
  open: (): StoreFixture => ({ connect: () => own, leftovers: () => [], restart: () => {}, close: () => {} }),
};
storeSuite(suite);

/** The command line, with other variables. */
export function list(env: Environment): Promise<number> {
  return main(["ls", "--json"], env);
}

/** A program on redlock 5 and 4. */
export async function onRedlock(): Promise<void> {
  const settings: Partial<Settings> = { retryCount: 3 };
  const locks: NamedRedlock = new Redlock([new Redis6(), new Redis5()], settings);
  const listener: RedlockListener = (error: Error) => console.log(error instanceof ResourceLockedError);
  const event: RedlockEvent = "error";
  const emitter: RedlockEmitter = locks.on(event, listener);
  console.log(emitter.listenerCount("clientError"));
  let lock: CompatLock = await locks.acquire(["a"], 5_000, { retryCount: 0 });
  lock = await lock.extend(5_000);
  console.log(lock.fence + 1n, lock.expiration.toFixed(), lock instanceof CompatLock);
  const { attempts }: ExecutionResult = await lock.release();
  const stats: readonly ExecutionStats[] = await Promise.all(attempts);
  const routine: RedlockRoutine<string> = (signal: RedlockAbortSignal, { lock }: RedlockUsingContext) => {
    if (signal.aborted) throw signal.error;
    return lock.value;
  };
  const value: string = await locks.using(["a", "b"], 5_000, settings, routine).catch((error: unknown) => {
    if (!(error instanceof ExecutionError)) throw error;
    return error.message;
  });
  const callback: RedlockCallback<CompatLock> = (error, lock) => console.log(error, lock?.resource);
  await locks.lock("a", 5_000, callback);
  console.log(stats.length, value.length);
}

/** A program on redis-semaphore. */
export async function onRedisSemaphore(): Promise<void> {
  const times: TimeoutOptions = { ...defaultTimeoutOptions, refreshInterval: 0 };
  const onLockLost: LockLostCallback = function (error) {
    console.log(this.isAcquired, error instanceof LostLockError);
  };
  const options: MutexOptions = { ...times, onLockLost };
  const clients = [new Redis6(), new Redis5()];
  const locks: SemaphoreLock[] = [
    new Mutex(new Redis6(), "a", options),
    new RedlockMutex(clients, "a", { onLockLost, nodeTimeout: 500 } satisfies RedlockMutexOptions),
    new Semaphore(new Redis5(), "a", 3, times),
  ];
  for (const lock of locks) {
    await lock.acquire(AbortSignal.timeout(500)).catch((error: unknown) => console.log(error instanceof TimeoutError));
    const [held, fence]: [boolean, bigint | undefined] = [await lock.tryAcquire(), lock.fence];
    console.log(held, fence, lock.identifier.length, lock.signal?.aborted);
    lock.stopRefresh();
    await lock.release();
  }
}
