import { CLIENTS, hasMethods, looksLikeClient, looksLikeStore, STORE } from "./target_shape.ts";
import { show } from "./validation.ts";

const EXAMPLES = 'Pass new Redis(url) of ioredis, sqlite("locks.db") of @holdfast/lock/sqlite, or memory() of ' +
  "@holdfast/lock/memory";

const MYSQL_POOL = "a pool of MySQL or MariaDB. Pass mysql(pool) of @holdfast/lock/mysql";

/** Objects by the methods that they have or (`!`) lack, and what to pass in their place. The first match counts. */
const MISTAKES: readonly (readonly [methods: string, words: string])[] = [
  ["then", "a Promise. Await it first"],
  ["evalsha eval !duplicate !on", "a client of @upstash/redis. Pass upstash({ url, token }) of @holdfast/lock/upstash"],
  ["prepare exec", 'an SQLite database. Pass sqlite("locks.db") of @holdfast/lock/sqlite'],
  ["query releaseConnection", MYSQL_POOL],
  ["query activeConnections", MYSQL_POOL],
  ["getData setData mkdirp", "a client of ZooKeeper. Pass zookeeper(client) of @holdfast/lock/zookeeper"],
  ["read write", "a backend. Pass cas(backend) of @holdfast/lock/cas"],
  ["namespace lease", "a client of etcd. Pass etcd({ endpoints }) of @holdfast/lock/etcd"],
  ["atomic watch", "a Deno.Kv. Pass denoKv(kv) of @holdfast/lock/deno-kv"],
  ["idFromName get", "a namespace of Durable Objects. Pass durableObject(namespace) of @holdfast/lock/durable-object"],
  [STORE.join(" "), "a Store. Pass it alone, or several as redlock([…]) of @holdfast/lock/redlock"],
  ["query !getConnection", "a client of PostgreSQL. Pass postgres(pool) of @holdfast/lock/postgres"],
];

/** The advice for a text in the place of a target. The first match counts. */
const TEXTS: readonly (readonly [text: RegExp, advice: string])[] = [
  [/^(rediss?|valkeys?|unix):/i, "Pass new Redis(url) of ioredis"],
  [/^postgres(ql)?:/i, "Pass a store for it: postgres(pool) of @holdfast/lock/postgres"],
  [/^etcds?:/i, 'Pass a store for it: etcd({ endpoints: ["http://127.0.0.1:2379"] }) of @holdfast/lock/etcd'],
  [/^(file:|\.{0,2}\/)|\.(db|sqlite3?)$|^:memory:$/i, "Pass a store for it: sqlite(path) of @holdfast/lock/sqlite"],
  [/^/, `The store comes before the name. ${EXAMPLES}`],
];

/** Throws a `TypeError` unless a value is a store, a client, or an array of clients. */
export function checkTarget(target: unknown): void {
  for (const [place, client] of Array.isArray(target) ? target.entries() : []) {
    if (looksLikeClient(client)) continue;
    throw new TypeError(`store[${place}] must be a Redis client: got ${describeMistake(client)}`);
  }
  if (Array.isArray(target) || looksLikeStore(target) || looksLikeClient(target)) return;
  const what = "store must be a Store, a Redis client, or an array of such clients";
  throw new TypeError(`${what}: got ${describeMistake(target)}`);
}

/** Describes the value that was given instead of a target, and what to pass in its place. */
export function describeMistake(value: unknown): string {
  if (value === undefined || value === null) return `${value}. ${EXAMPLES}`;
  if (typeof value === "string") return `${show(withoutSecrets(value))}. ${forText(value)}`;
  if (typeof value === "function") {
    return "unsafe" in value ? "sql of postgres.js. Pass postgres(sql) of @holdfast/lock/postgres" : forFunction(value);
  }
  if (typeof value !== "object") return `${show(value)}. ${EXAMPLES}`;
  if (value instanceof URL) return `the URL ${withoutSecrets(value.href)}. ${forText(value.href)}`;
  const has = (method: string) => hasMethods(value, [method]);
  const mistake = MISTAKES.find(([methods]) =>
    methods.split(" ").every((method) => method.startsWith("!") ? !has(method.slice(1)) : has(method))
  );
  if (mistake !== undefined) return mistake[1];
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
  return TEXTS.find(([like]) => like.test(text))![1];
}

function forFunction({ name, prototype }: { readonly name: string; readonly prototype?: unknown }): string {
  const called = name === "" ? "a function" : `the function ${name}`;
  // Only what is called with "new" has methods to give.
  const made = Object.getOwnPropertyNames(Object(prototype)).length > 1;
  if (made) return `the class ${name}. Pass an instance: new ${name}(…)`;
  return `${called}. Call it, and pass what it returns: ${name === "" ? "it" : name}(…)`;
}

/** Hides the user and the password in a URL, because errors are written into logs. */
function withoutSecrets(text: string): string {
  return text.replace(/\/\/.*@/, "//***@");
}
