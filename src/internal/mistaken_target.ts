import { show } from "./validation.ts";

/** The methods by which a store is known. */
const STORE = ["attempt", "renew", "release", "drift"];

/** The methods by which the clients of each library are known. */
const CLIENTS: readonly (readonly [kind: string, methods: readonly string[]])[] = [
  ["client of ioredis's shape", ["evalsha", "eval", "duplicate", "on"]],
  ["client of node-redis", ["evalSha", "eval", "on"]],
  ["RedisClient of Bun", ["send", "psubscribe", "duplicate"]],
  ["client of upstash()", ["postCommand"]],
  ["client of valkey-glide", ["customCommand"]],
];

const EXAMPLES = 'Pass new Redis(url) of ioredis, sqlite("locks.db") of @holdfast/lock/sqlite, or memory() of ' +
  "@holdfast/lock/memory";

/** Returns whether a value has the methods of a store. */
export function looksLikeStore(value: unknown): boolean {
  return hasMethods(value, STORE);
}

/** Returns whether a value has the methods of a Redis client that the store can use. */
export function looksLikeClient(value: unknown): boolean {
  return CLIENTS.some(([, methods]) => hasMethods(value, methods));
}

/** Says what was given instead of a target, and what to pass in its place. */
export function describeMistake(value: unknown): string {
  if (value === undefined || value === null) return `${value}. ${EXAMPLES}`;
  if (typeof value === "string") return `${show(withoutSecrets(value))}. ${forText(value)}`;
  if (typeof value === "function") {
    return "unsafe" in value ? "sql of postgres.js. Pass postgres(sql) of @holdfast/lock/postgres" : forFunction(value);
  }
  if (typeof value !== "object") return `${show(value)}. ${EXAMPLES}`;
  if (value instanceof URL) return `the URL ${withoutSecrets(value.href)}. ${forText(value.href)}`;
  const has = (...methods: string[]) => hasMethods(value, methods);
  if (has("then")) return "a Promise. Await it first";
  if (has("evalsha", "eval") && !has("duplicate") && !has("on")) {
    return "a client of @upstash/redis. Pass upstash({ url, token }) of @holdfast/lock/upstash";
  }
  if (has("prepare", "exec")) return 'an SQLite database. Pass sqlite("locks.db") of @holdfast/lock/sqlite';
  if (has("query", "releaseConnection") || has("query", "activeConnections")) {
    return "a pool of MySQL or MariaDB. Pass mysql(pool) of @holdfast/lock/mysql";
  }
  if (has("getData", "setData", "mkdirp")) {
    return "a client of ZooKeeper. Pass zookeeper(client) of @holdfast/lock/zookeeper";
  }
  if (has("read", "write")) {
    return "a backend. Pass cas(backend) of @holdfast/lock/cas";
  }
  if (has("namespace", "lease")) {
    return "a client of etcd. Pass etcd({ endpoints }) of @holdfast/lock/etcd";
  }
  if (has("atomic", "watch")) return "a Deno.Kv. Pass denoKv(kv) of @holdfast/lock/deno-kv";
  if (has("idFromName", "get")) {
    return "a namespace of Durable Objects. Pass durableObject(namespace) of @holdfast/lock/durable-object";
  }
  if (has(...STORE)) return "a Store. Pass it alone, or several as redlock([…]) of @holdfast/lock/redlock";
  if (has("query") && !has("getConnection")) {
    return "a client of PostgreSQL. Pass postgres(pool) of @holdfast/lock/postgres";
  }
  for (const [known, methods] of [["Store", STORE] as const, ...CLIENTS]) {
    const missing = methods.filter((method) => !has(method));
    // Many objects have one of the methods.
    if (2 * missing.length < methods.length) return `a ${known} without ${missing}()`;
  }
  const { constructor } = value;
  const keys = Object.keys(value).join(", ");
  const plain = keys === "" ? "an empty object" : `an object with the keys ${show(keys)}`;
  const kind = typeof constructor === "function" && constructor !== Object ? `an object of ${constructor.name}` : plain;
  return `${kind}. ${EXAMPLES}`;
}

function forText(text: string): string {
  if (/^(rediss?|valkeys?|unix):/i.test(text)) return "Pass new Redis(url) of ioredis";
  if (/^postgres(ql)?:/i.test(text)) {
    return "Pass a store for it: postgres(pool) of @holdfast/lock/postgres";
  }
  if (/^etcds?:/i.test(text)) {
    return 'Pass a store for it: etcd({ endpoints: ["http://127.0.0.1:2379"] }) of @holdfast/lock/etcd';
  }
  if (/^(file:|\.{0,2}\/)|\.(db|sqlite3?)$|^:memory:$/i.test(text)) {
    return "Pass a store for it: sqlite(path) of @holdfast/lock/sqlite";
  }
  return `The store comes before the name. ${EXAMPLES}`;
}

function forFunction({ name, prototype }: { readonly name: string; readonly prototype?: unknown }): string {
  const called = name === "" ? "a function" : `the function ${name}`;
  // Only what is called with "new" has methods to give.
  const made = Object.getOwnPropertyNames(Object(prototype)).length > 1;
  if (made) return `the class ${name}. Pass an instance: new ${name}(…)`;
  return `${called}. Call it, and pass what it returns: ${name === "" ? "it" : name}(…)`;
}

/** Hides the user and the password that a URL may have: errors are written into logs. */
function withoutSecrets(text: string): string {
  return text.replace(/\/\/.*@/, "//***@");
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return typeof value === "object" && value !== null &&
    methods.every((method) => typeof Reflect.get(value, method) === "function");
}
