/**
 * One edit: a text that stands in the file once, and what is to stand there instead; nothing when left out. "…" in the
 * text is whatever stands between its two parts: what comes to be there later is taken out too, which can only make the
 * comparison harder.
 */
export type Edit = readonly [text: string, instead?: string];

/**
 * Takes shared locks, permits, owners that come again, `steal` and observers out of `src/`: file by file, as somebody
 * would have written it who never thought of them.
 */
export const EDITS: Readonly<Record<string, readonly Edit[]>> = {
  "_check.ts": [["/** Rejects what cannot be told … /** Rejects what is no", "/** Rejects what is no"]],
  "_give_up.ts": [
    [`import { tell } from "./observer.ts";\n`],
    [`const { name, owner } = claim;\n      tell(… });\n`, "const { name } = claim;\n"],
  ],
  "acquire.ts": [
    [`import { show } from "./_check.ts";\n`],
    ["import { LockConflictError, ", "import { "],
    [`import { tell } from "./observer.ts";\n`],
    ["Attempt, Claim, Conflict, Store", "Attempt, Claim, Store"],
    [
      "const claim = claimOf(store, name, settings);\n  const { owner } = claim;",
      "const claim = claimOf(name, settings);",
    ],
    [", steal: settings.steal"],
    ["          if (store.observer !== undefined) {… }\n          return", "          return"],
    [`        if ("conflict" in attempt) throw conflict(claim, attempt.conflict);\n`],
    [`        if (error instanceof LockConflictError)… operation: "attempt", error });\n`],
    [`      if (first) tell(store.observer, { type: "waiting", name, owner });\n`],
    [
      "function claimOf(… function timeout",
      "function claimOf(name: string, { lease }: Settings): Claim {\n" +
      "  return { name, lease, owner: crypto.randomUUID() };\n}\n\nfunction timeout",
    ],
  ],
  "lease.ts": [
    [`import { tell } from "./observer.ts";\n`],
    ["      else if (!this.#ended) this.#watch();\n"],
    ["  /** Hears at once when … /** Settles like", "  /** Settles like"],
    ["const { name, owner } = this.#claim;\n    this.#lost = ", "const { name } = this.#claim;\n    this.#lost = "],
    [`    tell(this.#store.observer, { type: "lost", name, owner, error: this.#lost });\n`],
    [`        const { name, owner } = this.#claim;\n        tell(… });\n`],
    [`(error) {\n      const { name, owner } = this.#claim;\n      tell(… });\n`, "{\n"],
  ],
  "lock.ts": [
    [`import { tell } from "./observer.ts";\n`],
    ["import type { Mode, Store }", "import type { Store }"],
    ["  /** How it is held. */\n  readonly mode: Mode;\n"],
    ["  get mode(): Mode {… }\n\n"],
    ["    if (this.#store.observer !== undefined) {… }\n  }\n", "  }\n"],
  ],
  "options.ts": [
    ['import type { Capability, Mode } from "./store.ts";\n'],
    ["  /**\n   * How the lock is held: … steal?: boolean | undefined;\n"],
    ["  readonly mode: Mode;… readonly steal: boolean;\n"],
    ["  /** What of it not every store supports. */\n  readonly needs: readonly Capability[];\n"],
    ["const MAX_PERMITS = 2 ** 31 - 1;\n"],
    [`"signal", "mode", "permits", "owner", "steal", "strict"`, `"signal", "strict"`],
    [`signal, mode = "exclusive", strict = true } = options;\n… = options;\n`, "signal, strict = true } = options;\n"],
    [`  if (mode !== "exclusive" && … : got true");\n  }\n`],
    [
      `  const needs: Capability[] = [];\n… needs };`,
      "  return { lease, interval, autoInterval, wait, signal, strict };",
    ],
    ["function checkPermits(… /** Whether a value is an `AbortSignal`", "/** Whether a value is an `AbortSignal`"],
  ],
  "store.ts": [
    [`import type { Observer } from "./observer.ts";\n`],
    ["/** How a lock is held: … = Mode | number;\n"],
    ["  /**\n   * The id of the one handle … permits?: number | undefined;\n"],
    ["{ owner, hold }: Claim): string {\n  return hold ?? owner;", "{ owner }: Claim): string {\n  return owner;"],
    ["/** What kind of lock a claim is for. */… own: boolean;\n}\n"],
    ["\n  | {\n    readonly granted: false;\n    /** What stands against it. */… };", ";"],
    ["/** An option of `acquire` that… /**\n * Where locks", "/**\n * Where locks"],
    ["  /** The options of `acquire` that … query?(): Promise<Snapshot>;\n"],
    ["  /** Hears what happens … observer?: Observer | undefined;\n"],
    ["  /** Whether to take the lock … steal?: boolean | undefined;\n"],
  ],
  "stores/redis/holds.ts": [
    ["local marker, alone = … end\n`;", "`;"],
    [
      "\nif alone then\n… end\n`;",
      `
local function take(hold, ms)
  redis.call('SET', KEYS[1], hold, 'PX', ms)
  holder = hold
end
\`;`,
    ],
  ],
  "stores/redis/keys.ts": [["waiters: string, holders: string, ", "waiters: string, "], [" `${tagged}:holders`,"]],
  "stores/redis/queue.ts": [
    ["(holdfast:[^:]+)(.*)$", "(holdfast:[^:]+)$"],
    ["local seen, provable, channel, kind = read(", "local seen, provable, channel = read("],
    ["if alive and not fits(kind, named(head)) then", "if alive and holder then"],
    ["take(head, kind, ms)", "take(head, ms)"],
    ["take(head, kind, math.min", "take(head, math.min"],
    ["export const EVICT = … end\n`;"],
  ],
  "stores/redis/scripts.ts": [
    ['import type { Conflict, Entry, Kind, Snapshot } from "../../store.ts";\n'],
    ["import { ENTRY, EVICT, SERVE }", "import { SERVE }"],
    ["if owner then\n  local known … end\nend\n"],
    ["redis.pcall('SET', KEYS[5]", "redis.pcall('SET', KEYS[4]"],
    ["redis.call('SET', KEYS[5]", "redis.call('SET', KEYS[4]"],
    ["if owner then redis.call('ZADD', … end\n"],
    ["\n  | { readonly granted: false; readonly conflict: Conflict };", ";"],
    ["  const present = String(first);\n  if (present… }\n"],
    ["/** How a kind of lock is written … /**\n * release. KEYS", "/**\n * release. KEYS"],
    ["if value == hold or value and … == hold then", "if value == hold then"],
    ["if listed(hold) then purge() end\n"],
    ["elseif listed(hold) and … settle()\n"],
    ["not holder or several()", "not holder"],
    ["if value == ARGV[1] or value and … == ARGV[1] then", "if value == ARGV[1] then"],
    ["if not KEYS[4] then return 0 end… settle()\nreturn 1\n`;", "return 0\n`;"],
    ["/**\n * held. KEYS: … /** Decodes a reply of the scripts that", "/** Decodes a reply of the scripts that"],
  ],
  "stores/redis/store.ts": [
    [`import { type Observer, tell } from "../../observer.ts";\n`],
    ["  type Capability,\n"],
    ["  type QuorumNode,\n  type Renewal,\n… type VoteOptions,\n", "  type Renewal,\n  type Store,\n"],
    ["import { checkKeys, checkObserver, show }", "import { checkKeys, show }"],
    [`import { advice } from "./advice.ts";\n`],
    [`import { query } from "./query.ts";\nimport * as quorum from "./quorum_scripts.ts";\n`],
    ["  /** Hears what happens … observer?: Observer | undefined;\n"],
    ["/** A store on a Redis or Valkey server. */\nexport interface … }\n\n"],
    ["options: RedisOptions = {}): RedisStore {", "options: RedisOptions = {}): Store {"],
    [
      `replicas, observer } = checkKeys(options, ["prefix", "replicas", "observer"]);`,
      `replicas } = checkKeys(options, ["prefix", "replicas"]);`,
    ],
    ["  checkObserver(observer);\n"],
    ["checkReplicas(client, replicas), observer);", "checkReplicas(client, replicas));"],
    ["class ServerStore implements RedisStore {", "class ServerStore implements Store {"],
    ["  readonly capabilities: … observer: Observer | undefined;\n"],
    ["  #advised = false;\n"],
    [
      "    replicas: Replicas | undefined,\n    observer: Observer | undefined,\n",
      "    replicas: Replicas | undefined,\n",
    ],
    ["    this.observer = observer;\n"],
    ["  get address(): … attempt(claim: Claim, { enqueue, steal = false }", "  attempt(claim: Claim, { enqueue }"],
    ["  vote(claim: … async renew(", "  async renew("],
    ["    if (!this.#advised) this.#advise(claim);\n    return this.#wakeable", "    return this.#wakeable"],
    ["this.#asking(claim, enqueue, marker(claim, steal))", "this.#asking(claim, enqueue)"],
    ["  eviction(claim: Claim, … #wakeable<", "  #wakeable<"],
    [`    if (answer.granted || "conflict" in answer) return answer;`, "    if (answer.granted) return answer;"],
    ["#asking(claim: Claim, enqueue: boolean, marker: string)", "#asking(claim: Claim, enqueue: boolean)"],
    [`    else if (marker !== "") … push(marker);\n`],
    [`    if (answer.granted || "conflict" in answer) {`, "    if (answer.granted) {"],
    [
      `marker(claim) === "" ? [this.#prefix + claim.name] : this.#keys(claim).slice(0, 4)`,
      "[this.#prefix + claim.name]",
    ],
    ["scripts.release, this.#keys(claim).slice(0, 4)", "scripts.release, this.#keys(claim).slice(0, 3)"],
    ["/** What is asked for, as … /** A duration", "/** A duration"],
  ],
  "stores/redis/take.ts": [
    ["import { EVICT, SERVE }", "import { SERVE }"],
    [
      "local lock, hold, ticket, kind = … end\nlocal time",
      "local lock, hold, ticket = KEYS[1], ARGV[1], ARGV[4] or ''\nlocal time",
    ],
    [
      "local owner\n\nif reserved then\n  redis.call('SET', lock, value,",
      "\nif reserved then\n  redis.call('SET', lock, hold,",
    ],
    [
      "local reserved = value and ticket ~= '' and redis.call('GET', lock) == value",
      "local reserved = ticket ~= '' and redis.call('GET', lock) == hold",
    ],
    [
      "elseif not value or waiting > 0 or not redis.call('SET', lock, value,",
      "elseif waiting > 0 or not redis.call('SET', lock, hold,",
    ],
    ["HOLDS + SERVE + EVICT", "HOLDS + SERVE"],
    [
      "  local steal = … elseif waiting == 0 and fits(kind, owner) then\n    take(hold, kind, ms)\n",
      `  if holder == hold then
    take(hold, math.max(ms, redis.call('PTTL', lock)))
  elseif waiting == 0 and not holder then
    take(hold, ms)
`,
    ],
    ["    local function permits(value)… end\n"],
    ["    if holder and ticket == '' and … end\n    end\n"],
    ["now .. ARGV[3] .. kind", "now .. ARGV[3]"],
    [
      "    local open = not holder … or not fits(kind, owner) then\n",
      "    if holder or not serve(ms, hold) then\n      if holder or redis.call('ZCARD', KEYS[2]) > 0 then\n",
    ],
    ["        if permits(holder) then\n… end\n"],
    ["      take(hold, kind, ms)\n    end\n  end\n… end\nend\n`;", "      take(hold, ms)\n    end\n  end\nend\n`;"],
  ],
};
