/** Tests that are run together: one command. */
export type Stage =
  /** Test files, by their paths; with `filter`, those tests of which the names match (without look-ahead). */
  | { readonly tests: RegExp; readonly except?: RegExp; readonly filter?: RegExp }
  /** Runs of the simulator, from the first seed. */
  | { readonly seeds: number };

/** Source files that are mutated, and the tests that are to notice, the fastest first. */
export interface Target {
  readonly name: string;
  readonly source: RegExp;
  readonly stages: readonly Stage[];
}

/** The Lua scripts of the store on Redis: when one has changed, the module with all of them is built anew. */
export const SCRIPTS = /^src\/stores\/redis\/scripts\/.*\.lua$/;

/** What takes minutes, or compares stores with each other, or needs another program. */
const SLOW = /(model|older_node|types|platform|redis)_test\.ts$/;

/** The store on Redis without a server. */
const REDIS_UNITS: Stage = {
  tests:
    /^tests\/stores\/redis\/(?:(?:\w+\/)*(?:commands|connection_events|options|replicated_renewal|replies|runner|search|server_error|store_calls|warnings|writes)|wakeups\/(?:channels|revocations|signs_of_life|subscriber|subscription_states|waiters))_test\.ts$/,
};

/** The scripts alone, on a server. */
const REDIS_SCRIPTS: Stage = {
  tests: /^tests\/stores\/redis\/(?:\w+\/)*(exact_times|quorum_scripts|records|reservations|vote)_test\.ts$/,
};

/** What the store on Redis does with the kinds of locks, on a server. */
const REDIS_KINDS: Stage = {
  tests: /^tests\/stores\/redis\/(?:\w+\/)*(kinds|owners|revocations|scripts)_test\.ts$/,
};

/** The store suite on one server, over one client. */
const REDIS_STORE: Stage = {
  tests: /^tests\/stores\/redis\/store_test\.ts$/,
  filter: /^redis over ioredis 6 with RESP3/,
};

/** What is mutated. */
export const TARGETS: readonly Target[] = [
  {
    name: "lease",
    source: /^src\/lock\/(lease|lease\/(forgotten_handle|lease_times|renewals))\.ts$/,
    stages: [
      { tests: /^tests\/lock\/(lease\w*|lease\/lease_times)_test\.ts$/ },
      { tests: /^tests\/(lock|contract)\/(lock|events|acquire|forgotten)\w*_test\.ts$/ },
      { seeds: 300 },
    ],
  },
  {
    name: "acquire",
    source:
      /^src\/(lock\/(acquire|acquire_all|acquisition|lock|with_lock|lease\/(attempt_history|held_leases))|contract\/release|internal\/(failure|reason)|time\/(clock|timers|wait_scope))\.ts$/,
    stages: [
      {
        tests:
          /^tests\/(lock\/(acquire|at_least|lock|with_lock|lease\/attempt_history)|contract\/release|internal\/(failure|reason)|time\/(backoff|clock|overdue|wait_scope))\w*_test\.ts$/,
      },
      { tests: /^tests\/(|lock\/|contract\/)(closed_early|kinds|events|options|target|errors|lease)\w*_test\.ts$/ },
      { seeds: 300 },
    ],
  },
  {
    name: "handoff",
    source: /^src\/(handoff\/\w+|cohort\/\w+)\.ts$/,
    stages: [
      { tests: /^tests\/handoff\/\w+_test\.ts$/, except: SLOW },
      { tests: /^tests\/cohort\/(events|faults|hand_on|linger|linger_at_once|mod|revocation)_test\.ts$/ },
      { tests: /^tests\/simulation\/handoff\/\w+_test\.ts$/ },
      { seeds: 300 },
    ],
  },
  {
    name: "redlock",
    source: /^src\/redlock\/[\w/]+\.ts$/,
    stages: [
      { tests: /^tests\/redlock\/[\w/]+_test\.ts$/, except: /\/(model|restore_model|store)_test\.ts$/ },
      { seeds: 300 },
      { tests: /^tests\/redlock\/store_test\.ts$/, filter: /^redlock of (2|5) stores in memory/ },
    ],
  },
  {
    name: "sqlite",
    source: /^src\/stores\/sqlite\/[\w/]+\.ts$/,
    stages: [
      { tests: /^tests\/stores\/sqlite\/[\w/]+_test\.ts$/, except: /(model|older_node|store|process\w*)_test\.ts$/ },
      { tests: /^tests\/stores\/sqlite\/(store|model)_test\.ts$/ },
    ],
  },
  {
    name: "cas",
    source: /^src\/(engine\/\w+|rules\/snapshot)\.ts$/,
    stages: [
      { tests: /^tests\/engine\/\w+_test\.ts$/, except: /(backends|cohort|store)_test\.ts$/ },
      { tests: /^tests\/engine\/store_test\.ts$/ },
      { tests: /^tests\/simulation\/simulation_test\.ts$/, filter: /^cas\(\) keeps its promises/ },
    ],
  },
  {
    name: "deno_kv",
    source: /^src\/stores\/deno_kv\/\w+\.ts$/,
    stages: [
      { tests: /^tests\/stores\/deno_kv\/store_test\.ts$/ },
      { tests: /^tests\/stores\/deno_kv\/\w+_test\.ts$/, except: /(cohort|store)_test\.ts$/ },
    ],
  },
  {
    name: "durable_object",
    source: /^src\/stores\/durable_object\/\w+\.ts$/,
    stages: [
      { tests: /^tests\/stores\/durable_object\/\w+_test\.ts$/, except: /(eviction|store)_test\.ts$/ },
      { tests: /^tests\/stores\/durable_object\/eviction_test\.ts$/ },
      { tests: /^tests\/stores\/durable_object\/store_test\.ts$/ },
    ],
  },
  {
    name: "postgres",
    source: /^src\/(stores\/postgres|internal\/sql)\/\w+\.ts$/,
    stages: [
      { tests: /^tests\/stores\/postgres\/(notifications|connections)_test\.ts$/ },
      { tests: /^tests\/stores\/postgres\/(first_call|pairs|refusals|statements|unwatched)_test\.ts$/ },
      { tests: /^tests\/stores\/postgres\/(listen|orders)_test\.ts$/ },
      { tests: /^tests\/stores\/postgres\/store_test\.ts$/ },
    ],
  },
  {
    name: "mysql",
    source: /^src\/stores\/mysql\/\w+\.ts$/,
    stages: [
      { tests: /^tests\/stores\/mysql\/connections_test\.ts$/ },
      { tests: /^tests\/stores\/mysql\/store_test\.ts$/ },
      { tests: /^tests\/stores\/mysql\/suite_test\.ts$/, filter: /^mysql\(\) over mysql2/ },
    ],
  },
  {
    name: "zookeeper",
    source: /^src\/stores\/zookeeper\/\w+\.ts$/,
    stages: [
      { tests: /^tests\/stores\/zookeeper\/(client|sync|watch)_test\.ts$/ },
      {
        tests: /^tests\/stores\/zookeeper\/store_test\.ts$/,
        filter:
          /^(Zookeeper(Backend|Session|Timers)|NodeWatches|nodeOf|isLock|parseServers|zookeeper\(\) (of a text keeps|throws)|(?:wakeup|revocation|tryAcquire)\(\) on (a )?ZooKeeper|acquire\(\) on ZooKeeper (gives|goes|is|needs|rejects|says|waits|without))/,
      },
      { tests: /^tests\/stores\/zookeeper\/store_test\.ts$/, filter: /^zookeeper\(\) on one server/ },
    ],
  },
  {
    name: "etcd",
    source: /^src\/stores\/etcd\/\w+\.ts$/,
    stages: [
      { tests: /^tests\/stores\/etcd\/key_(events|polls)_test\.ts$/ },
      { tests: /^tests\/stores\/etcd\/(answers|failures|options|store|timers|watch)_test\.ts$/ },
      { tests: /^tests\/stores\/etcd\/(auth|endpoints|numbers)_test\.ts$/ },
      { tests: /^tests\/stores\/etcd\/suite_test\.ts$/, filter: /^etcd\(\) on three members/ },
    ],
  },
  {
    name: "guard",
    source: /^src\/guard\/\w+\.ts$/,
    stages: [
      { tests: /^tests\/guard\/anomalies_test\.ts$/, filter: /(savepoint|a plain read before|rejects a stale)/ },
      { tests: /^tests\/guard\/(anomalies|guard|together)_test\.ts$/ },
      { tests: /^tests\/docs_recipes\/orms_test\.ts$/ },
    ],
  },
  {
    name: "web_locks",
    source: /^src\/web_locks\/\w+\.ts$/,
    stages: [{ tests: /^tests\/web_locks\/\w+_test\.ts$/, except: SLOW }],
  },
  {
    name: "compat",
    source: /^packages\/compat\/src\/[\w/]+\.ts$/,
    stages: [
      { tests: /^packages\/compat\/tests\/(limited_store|options)_test\.ts$/ },
      { tests: /^packages\/compat\/tests\/(redis_semaphore|redlock)_test\.ts$/ },
    ],
  },
  {
    name: "otel",
    source: /^packages\/otel\/src\/\w+\.ts$/,
    stages: [{ tests: /^packages\/otel\/tests\/(metrics|options|spans|trace_meta)_test\.ts$/ }],
  },
  {
    name: "supervise",
    source: /^packages\/cli\/src\/supervise\/\w+\.ts$/,
    stages: [
      { tests: /^packages\/cli\/tests\/(supervise\/\w+|run_supervision)_test\.ts$/ },
      { tests: /^packages\/cli\/tests\/run_(leftovers|loss|signals|terminal)_test\.ts$/ },
    ],
  },
  {
    name: "clients",
    source: /^src\/stores\/redis\/clients\/[\w/]+\.ts$/,
    stages: [
      {
        tests:
          /^tests\/stores\/redis\/clients\/(?:\w+\/)?(bad_input|bun|client_warning|connection_events|deployment|event_stream|options|reject_unanswered|renew_subscriptions|rest_client|second_connection|selected_database|writes)_test\.ts$/,
      },
      {
        tests:
          /^tests\/stores\/redis\/(?:clients\/(?:\w+\/)?(?:connection|database|handshake|second_connections)|wakeups\/subscription_states)_test\.ts$/,
      },
      REDIS_STORE,
      { tests: /^tests\/stores\/redis\/clients\/(?:node_redis|valkey_glide)_test\.ts$/ },
      { tests: /^tests\/stores\/redis\/(closed_early|cluster|node_redis|replicas|upstash)_test\.ts$/ },
    ],
  },
  {
    name: "redis",
    source: /^src\/stores\/redis\/(?!scripts\/|clients\/)[\w/]+\.ts$/,
    stages: [
      REDIS_UNITS,
      {
        tests:
          /^tests\/stores\/redis\/(?:\w+\/)*(client_warning|clones|connection|database|keys|second_connections)_test\.ts$/,
      },
      REDIS_SCRIPTS,
      REDIS_KINDS,
      {
        tests:
          /^tests\/stores\/redis\/((?:\w+\/)*(channels|paging|query|servers)|wakeups\/(subscription|wakeups))_test\.ts$/,
      },
      REDIS_STORE,
      { tests: /^tests\/stores\/redis\/(?:\w+\/)*(cluster|interoperability|node_redis|refusals|replicas)_test\.ts$/ },
    ],
  },
  {
    name: "scripts",
    source: SCRIPTS,
    stages: [
      { tests: /^tools\/lua\/(model|scripts)_test\.ts$/ },
      REDIS_SCRIPTS,
      REDIS_KINDS,
      { tests: /^tests\/stores\/redis\/(query|interoperability|refusals)_test\.ts$/ },
      REDIS_STORE,
      // Random sequences of calls, compared with those on a store in memory.
      { tests: /^tests\/redlock\/model_test\.ts$/ },
      { seeds: 300 },
    ],
  },
];

/** Returns the target that a source file belongs to. */
export function targetOf(path: string): Target | undefined {
  return TARGETS.find(({ source }) => source.test(path));
}
