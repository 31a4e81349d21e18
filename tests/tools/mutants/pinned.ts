/**
 * A fault that must always be noticed. It is found by the name of its function and by the code that makes it, wherever
 * in the files of the target that is.
 */
export interface Fault {
  /** What goes wrong. */
  readonly name: string;
  /** The target whose files have the place. */
  readonly target: string;
  /** The file whose tests must notice, see {@linkcode testFileOf}. */
  readonly test: string;
  /** The function, such as `Lease.#renew`. */
  readonly place: string;
  readonly edit: Edit;
  /** No test notices it yet. */
  readonly open?: true;
}

/** Returns the file of the tests: `"lease"` stands for `tests/lock/lease_test.ts`; those of packages have their whole path. */
export function testFileOf({ test }: Pick<Fault, "test">): string {
  return `${test.startsWith("packages/") ? "" : "tests/"}${test}_test.ts`;
}

/** What is done to the only node in a place that matches; texts are compared on one line, without comments. */
export type Edit =
  /** Takes a statement out. */
  | { readonly remove: RegExp; readonly within?: RegExp }
  /** Takes one side of `&&`, `||` or `??` out. */
  | { readonly drop: RegExp; readonly within?: RegExp }
  /** Puts something in the place of an expression. */
  | { readonly replace: RegExp; readonly by: string; readonly within?: RegExp };

/** The faults. Each has survived all tests, or a campaign of injected faults, at some time. */
export const FAULTS: readonly Fault[] = [
  {
    name: "a wait that was given up is never taken out of the queue",
    target: "acquire",
    test: "lock/acquire",
    place: "Acquisition.#undo",
    edit: { replace: /^\(\) => this\.#store\.release\(this\.claim\)$/, by: "() => {}" },
  },
  {
    name: "a release is never sent",
    target: "acquire",
    test: "contract/release",
    place: "releaseWithRetry",
    edit: { replace: /^await store\.release\(claim\)$/, by: "true" },
  },
  {
    name: "a lock that is to be kept for a while is released",
    target: "acquire",
    test: "lock/at_least",
    place: "releaseWithRetry",
    edit: { replace: /^last === undefined$/, by: "true" },
  },
  {
    name: "of the events of a message only the first is told",
    target: "etcd",
    test: "stores/etcd/key_events",
    place: "KeyEvents.#run",
    edit: { replace: /^events\?\.at\(-1\)$/, by: "events?.[0]" },
  },
  {
    name: "an event is not told to those who wait for just that revision",
    target: "etcd",
    test: "stores/etcd/key_events",
    place: "KeyEvents.#tell",
    edit: { replace: /^wanted <= revision$/, by: "wanted < revision" },
  },
  {
    name: "a stream whose connection may be lost is used on",
    target: "etcd",
    test: "stores/etcd/key_events",
    place: "EtcdWatches.watch",
    edit: { remove: /endIfSilent\(\);$/ },
  },
  {
    name: "a watch that could not be set is kept for good",
    target: "zookeeper",
    test: "stores/zookeeper/watch",
    place: "NodeWatches.#begin",
    edit: { remove: /^set\.catch\(end\);$/ },
  },
  {
    name: "a read goes ahead of its sync",
    target: "zookeeper",
    test: "stores/zookeeper/sync",
    place: "ZookeeperBackend.#synced",
    edit: {
      replace: /^Promise\.allSettled\(\[this\.#connection\.sync\(\), request\(\)\]\)$/,
      by: "Promise.allSettled([request(), this.#connection.sync()]).then(([answer, synced]) => [synced, answer])",
    },
  },
  {
    name: "a connection is ended because an earlier one was slow",
    target: "zookeeper",
    test: "stores/zookeeper/client",
    place: "ZookeeperConnection.#unconnectedError",
    edit: { drop: /^this\.#slow\.socket !== socket$/ },
  },
  {
    name: "a grant that came after its deadline is accepted",
    target: "lease",
    test: "lock/lease",
    place: "Lease.begin",
    edit: { replace: /^this\.#deadline\.left\(now\) <= 0$/, by: "false" },
  },
  {
    name: "the deadline counts from the reply to the attempt",
    target: "lease",
    test: "lock/lease",
    place: "Lease.begin",
    edit: {
      replace: /^this\.#setTimer\(now\)$/,
      by: "(this.#deadline.move(now, this.claim.lease), this.#setTimer(now))",
    },
  },
  {
    name: "the deadline counts from the reply to the renewal",
    target: "lease",
    test: "lock/lease",
    place: "Renewals.send",
    edit: { replace: /^sentAt$/, by: "clock.now()", within: /^deadline\.move/ },
  },
  {
    name: "a renewal that came after the deadline is accepted",
    target: "lease",
    test: "lock/lease",
    place: "Renewals.send",
    edit: { replace: /^deadline\.left\(now\) > 0$/, by: "true" },
  },
  {
    name: "a lock is handed on that an eviction has taken which was sent before",
    target: "handoff",
    test: "handoff/revocation",
    place: "HandoffStore.#revoke",
    edit: {
      replace: /^new Set\(\[\.\.\.grants\.keys\(\), \.\.\.this\.place\.sharing\(name\)\]\)$/,
      by: "grants.keys()",
    },
  },
  {
    name: "nobody is woken when the one that asks for all gives up",
    target: "handoff",
    test: "handoff/sleepers",
    place: "LocalReleases.leave",
    edit: { remove: /^this\.#grants\.wakeLeaders\(\)/ },
  },
  {
    name: "a waiter that is never answered ends the handoff",
    target: "handoff",
    test: "handoff/unanswered",
    place: "LocalQueue.first",
    edit: { drop: /^handle\.canLead\(now\)$/ },
  },
  {
    name: "a waiter whose lease is too short to be handed the lock sleeps",
    target: "handoff",
    test: "handoff/short_leases",
    place: "LocalQueue.leaders",
    edit: { replace: /^!this\.canShare\(handle\)$/, by: "false" },
  },
  {
    name: "a lease is fresh while a renewal of it is not answered",
    target: "handoff",
    test: "handoff/members",
    place: "ProcessLease.isFresh",
    edit: { drop: /^this\.#asked !== undefined$/ },
  },
  {
    name: "what was granted before an eviction is handed on after it",
    target: "handoff",
    test: "handoff/late",
    place: "LocalAttempts.#granted",
    edit: { replace: /^sent\.revocations === this\.#revocations$/, by: "true" },
  },
  {
    name: "a lock that lingers is given back before its renewal is answered, so that a try finds it busy",
    target: "handoff",
    test: "handoff/claims",
    place: "lingerOn",
    edit: { replace: /^renewing === undefined$/, by: "true" },
  },
  {
    name: "a minority renews",
    target: "redlock",
    test: "redlock/attempt/quorum_attempt",
    place: "Nodes.majority",
    edit: { replace: /^this\.needed$/, by: "Math.max(1, this.needed - 1)" },
  },
  {
    name: "the fence that a majority did not confirm is forgotten",
    target: "redlock",
    test: "redlock/attempt/quorum_attempt",
    place: "QuorumAttempt.#confirm",
    edit: { remove: /^this\.#highest\.note\(end\)/ },
  },
  {
    name: "of the rounds that kept a place only the first is looked at",
    target: "redlock",
    test: "redlock/failing_nodes",
    place: "NodeVote.#last",
    edit: { remove: /^while / },
  },
  {
    name: "the vote counts of a node whose queue was left",
    target: "redlock",
    test: "redlock/attempt/rounds",
    place: "QuorumAttempt.#askCoordinator",
    edit: { remove: /^if \(left !== undefined\)/ },
  },
  {
    name: "a round that is being released is renewed",
    target: "redlock",
    test: "redlock/attempt/rounds",
    place: "RedlockStore.renew",
    edit: { drop: /^round\.released$/ },
  },
  {
    name: "a round that was released meanwhile is kept after its renewal",
    target: "redlock",
    test: "redlock/attempt/rounds",
    place: "RedlockStore.renew",
    edit: { replace: /^!round\.released$/, by: "true" },
  },
  {
    name: "an attempt that a wake-up brings uses up a retry",
    target: "compat",
    test: "packages/compat/tests/limited_store",
    place: "LimitedStore.attempt",
    edit: { replace: /^this\.#now\(\) >= this\.#dueAt$/, by: "true" },
  },
  {
    name: "a call ends before its last attempt",
    target: "compat",
    test: "packages/compat/tests/limited_store",
    place: "LimitedStore.#refuse",
    edit: { replace: /^this\.#made >= attempts$/, by: "this.#made + 1 >= attempts" },
  },
  {
    name: "the first attempt is one of the retries",
    target: "compat",
    test: "packages/compat/tests/options",
    place: "limitsOf",
    edit: { replace: /^retryCount \+ 1$/, by: "retryCount" },
  },
  {
    name: "a second client of Bun that is made after the close stays connected",
    target: "clients",
    test: "stores/redis/clients/bun",
    place: "BunPort.#subscribe.connect",
    edit: { remove: /^if \(isClosed\) return client\.close\(\);$/ },
  },
  {
    name: "a second client of node-redis that connects after the close stays connected",
    target: "clients",
    test: "stores/redis/clients/node_redis/second_connection",
    place: "subscribeOver.connect",
    edit: { remove: /^if \(isClosed\) destroy\(client!\);$/ },
  },
  {
    name: "what waits for a connection of node-redis waits on after the close",
    target: "clients",
    test: "stores/redis/clients/connection_events",
    place: "NodeRedisPort.constructor.closed",
    edit: { remove: /^this\.#database\.closed\(/ },
  },
  {
    name: "a request over REST without an answer is no cut",
    target: "clients",
    test: "stores/redis/clients/upstash/rest_client",
    place: "UpstashPort.#post",
    edit: { remove: /^this\.connection\.cut\(\);$/ },
  },
  {
    name: "an answer of REST that may come from a proxy proves that nothing was done",
    target: "clients",
    test: "stores/redis/clients/upstash/rest_client",
    place: "resultOf",
    edit: { remove: /^if \(mayBeDone\(/ },
  },
  {
    name: "a wait of a caller that is gone is held open",
    target: "durable_object",
    test: "stores/durable_object/holding",
    place: "LockServer.#hold",
    edit: { remove: /^if \(signal\?\.aborted\) end\(\);$/ },
  },
  {
    name: "a wait that was replaced hides the one that has replaced it",
    target: "durable_object",
    test: "stores/durable_object/holding",
    place: "LockServer.#hold",
    edit: { replace: /^this\.#held\.get\(key\) === controller$/, by: "true" },
  },
  {
    name: "a call of a handle that comes again is executed again",
    target: "durable_object",
    test: "stores/durable_object/call_numbers",
    place: "CallNumbers.accept",
    edit: { replace: /^number <= \(this\.#calls\.get\(caller\)\?\.\[1\] \?\? -1\)$/, by: "false" },
  },
  {
    name: "a lock object's reply to another call is taken",
    target: "durable_object",
    test: "stores/durable_object/requests",
    place: "parseReply",
    edit: { replace: /^fits\(reply, REPLIES\[what\]\)$/, by: "true" },
  },
  {
    name: "a ticket that the file has lost is not restored",
    target: "sqlite",
    test: "stores/sqlite/kinds",
    place: "FileStore.#writeAttempt",
    edit: { replace: /^waiter\?\.ticket$/, by: "undefined" },
  },
  {
    name: "a heartbeat from the future counts for ever",
    target: "sqlite",
    test: "stores/sqlite/dead_clients",
    place: "ALIVE",
    edit: { replace: /^"\(q\.client = \? OR abs\(\? - c\.seen\) < \?\)"$/, by: '"(q.client = ? OR ? - c.seen < ?)"' },
  },
  {
    name: "a connection that was lost during its probe counts as open",
    target: "postgres",
    test: "stores/postgres/notifications",
    place: "Notifications.#open",
    edit: { remove: /^if \(isLost\)/ },
  },
  {
    name: "notifications that were lost before a watch are not missed",
    target: "postgres",
    test: "stores/postgres/notifications",
    place: "Notifications.#mayBeOld",
    edit: { drop: /^asked\.at < this\.#openedAt$/ },
  },
  {
    name: "a connection over which nobody watches after all stays open",
    target: "postgres",
    test: "stores/postgres/notifications",
    place: "Notifications.#open",
    edit: { remove: /^this\.#closeLater\(\);$/ },
  },
  {
    name: "a statement over pg waits for ever",
    target: "postgres",
    test: "stores/postgres/connections",
    place: "withTimeout",
    edit: { replace: /^\{ text, "query_timeout": limit \}$/, by: "{ text }" },
  },
  {
    name: "a connection that does not answer is kept",
    target: "mysql",
    test: "stores/mysql/connections",
    place: "Mysql2Connections.run",
    edit: { drop: /^code === TIMED_OUT$/ },
  },
  {
    name: "rows that the server leaves out are not missed",
    target: "mysql",
    test: "stores/mysql/connections",
    place: "MysqlBackend.#look",
    edit: { remove: /^if \(Number\(limit\) < SCARCE_ROWS\)/ },
  },
  {
    name: "a statement that waits for a connection is late without a reason",
    target: "mysql",
    test: "stores/mysql/connections",
    place: "Mysql2Connections.#connection",
    edit: { remove: /^this\.#waiting\+\+/ },
  },
  {
    name: "the fence that a snapshot has is taken for the last one",
    target: "guard",
    test: "guard/anomalies",
    place: "inMysql",
    edit: { replace: /^`\$\{select\} FOR UPDATE`$/, by: "select" },
  },
  {
    name: "a transaction whose snapshot is older than its lock is accepted",
    target: "guard",
    test: "guard/anomalies",
    place: "inMysql",
    edit: { remove: /^if \(await fenceOf\(select\) !== present\)/ },
  },
  {
    name: "a savepoint is taken for the transaction",
    target: "guard",
    test: "guard/anomalies",
    place: "inPostgres",
    edit: { remove: /^if \(Number\(row\[0\]\) !== 1\)/ },
  },
  {
    name: "names that are made have no others removed",
    target: "cas",
    test: "engine/sweeper",
    place: "CasLock.#write",
    edit: { remove: /^if \(seen\.isAbsent\)/ },
  },
  {
    name: "stores that sweep at the same time look at one page",
    target: "cas",
    test: "engine/sweeper",
    place: "DocumentSweeper.#takePage",
    edit: {
      replace: /^\(await this\.#backend\.write\(POSITION, cursor, position\.version, \{\}\)\)\.written$/,
      by: "await this.#backend.write(POSITION, cursor, position.version, {})",
    },
  },
  {
    name: "a clock that was set forward during a call counts",
    target: "cas",
    test: "engine/seen",
    place: "Seen.isStale",
    edit: { replace: /^Math\.abs\(monotonic - wall\)$/, by: "(monotonic - wall)" },
  },
  {
    name: "of several leases that are over the server checks the last one alone",
    target: "cas",
    test: "engine/tidy",
    place: "tidy",
    edit: { replace: /^Math\.max\(notBefore \?\? 0, end\)$/, by: "end" },
  },
  {
    name: "a waiter that was struck off sleeps on",
    target: "cas",
    test: "engine/own_waiters",
    place: "OwnWaiters.wakeFor",
    edit: { drop: /^absent$/ },
  },
  {
    name: "a member of a run is woken as one that was struck off",
    target: "cas",
    test: "engine/own_waiters",
    place: "attempt.grant",
    edit: { remove: /^local\.take\(run\);$/ },
  },
  {
    name: "a waiter is dead while its attempt is not answered",
    target: "cas",
    test: "engine/own_waiters",
    place: "OwnWaiters.#isAlive",
    edit: { drop: /^attempts > 0$/ },
  },
  {
    name: "a look for a loss that has failed is the last one",
    target: "cas",
    test: "engine/revocation",
    place: "CasStore.revocation",
    edit: { replace: /^asking = false$/, by: "undefined" },
  },
  {
    name: "a renewal leaves the timer of the one before named",
    target: "cas",
    test: "engine/timers",
    place: "renew",
    edit: { replace: /^timerFor\(holder\.lease\)$/, by: "timerFor(holder.lease) ?? holder.timer" },
  },
  {
    name: "a timer is named that does not last for the lease",
    target: "cas",
    test: "engine/timers",
    place: "OwnTimers.lasting",
    edit: { replace: /^left >= ms$/, by: "left > 0" },
  },
  {
    name: "a timer is counted by the monotonic clock alone",
    target: "cas",
    test: "engine/timers",
    place: "leftOf",
    edit: { replace: /^elapsed\(sentAt, now\)$/, by: "(now.monotonic - sentAt.monotonic)" },
  },
  {
    name: "a timer is trusted to the end by a clock that drifts",
    target: "cas",
    test: "engine/timers",
    place: "leftOf",
    edit: { replace: /^drift\(ms\)$/, by: "0" },
  },
  {
    name: "a timer is over because the server did not answer",
    target: "cas",
    test: "engine/timers",
    place: "OwnTimers.areOver",
    edit: { replace: /^false$/, by: "true" },
  },
  {
    name: "a timer that is being started outlives the last lock",
    target: "cas",
    test: "engine/timers",
    place: "OwnTimers.drop",
    edit: { remove: /^over\.abort\(\);$/ },
  },
  {
    name: "a renewal waits for a timer",
    target: "cas",
    test: "engine/timers",
    place: "CasStore.renew",
    edit: {
      replace: /^timers\?\.keep\(handleOf\(claim\), claim\.lease\)$/,
      by: "await timers?.provide([claim.lease])",
    },
  },
  {
    name: "no caller starts a timer for a holder that has none",
    target: "cas",
    test: "engine/timers",
    place: "DocumentSuccession.ask",
    edit: { replace: /^patience < view\.left\(period\) \+ WATCHED_MS$/, by: "false" },
  },
  {
    name: "a client's clock is compared although the server has timers",
    target: "cas",
    test: "engine/timers",
    place: "CasLock.#view",
    edit: { drop: /^this\.#succession === undefined$/ },
  },
  {
    name: "what has failed is answered from an old document",
    target: "cas",
    test: "engine/plan",
    place: "planOf",
    edit: { replace: /^\{ needs: "read", answer \}$/, by: '{ needs: "seen", answer }' },
  },
  {
    name: "a plan needs what the call needs that needs least",
    target: "cas",
    test: "engine/plan",
    place: "planOf",
    edit: {
      replace: /^NEEDS\.find\(\(need\) => all\.includes\(need\)\)$/,
      by: "NEEDS.findLast((need) => all.includes(need))",
    },
  },
  {
    name: "a lease that may have ended since the server told its time is not asked for",
    target: "cas",
    test: "engine/plan",
    place: "planOf",
    edit: { replace: /^end <= now$/, by: "end < now" },
  },
  {
    name: "timers are named where they keep nobody waiting",
    target: "cas",
    test: "engine/plan",
    place: "planOf",
    edit: { drop: /^effects\.some\(\(\[, \{ blocked \}\]\) => blocked\)$/ },
  },
  {
    name: "that a process was passed over is no news",
    target: "cas",
    test: "engine/plan",
    place: "planOf",
    edit: { drop: /^passesOver$/ },
  },
  {
    name: "room for waiters is given out twice",
    target: "cas",
    test: "engine/plan",
    place: "roomIn",
    edit: { remove: /^taken \+= bytes;$/ },
  },
  {
    name: "renewals have no room for the names of timers",
    target: "cas",
    test: "engine/plan",
    place: "roomIn",
    edit: { replace: /^\(HOLDER_GROWTH_BYTES \+ timerBytes\)$/, by: "HOLDER_GROWTH_BYTES" },
  },
  {
    name: "writes are noted that may be executed twice",
    target: "cas",
];
