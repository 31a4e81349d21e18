export const STORE = ["attempt", "renew", "release", "drift"];

export const CLIENTS: readonly (readonly [kind: string, methods: readonly string[]])[] = [
  ["client of ioredis's shape", ["evalsha", "eval", "duplicate", "on"]],
  ["client of node-redis", ["evalSha", "eval", "on"]],
  ["RedisClient of Bun", ["send", "psubscribe", "duplicate"]],
  ["client of upstash()", ["postCommand"]],
  ["client of valkey-glide", ["customCommand"]],
];

export function looksLikeStore(value: unknown): boolean {
  return hasMethods(value, STORE);
}

/** Returns whether a value has the methods of a Redis client that the store can use. */
export function looksLikeClient(value: unknown): boolean {
  return CLIENTS.some(([, methods]) => hasMethods(value, methods));
}

export function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return typeof value === "object" && value !== null &&
    methods.every((method) => typeof Reflect.get(value, method) === "function");
}
