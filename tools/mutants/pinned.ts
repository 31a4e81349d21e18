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

/**
 * Returns the file of the tests: `"lease"` stands for `tests/lock/lease_test.ts`; those of packages have their whole
 * path.
 */
export function testFileOf({ test }: Pick<Fault, "test">): string {
  return `${test.startsWith("packages/") ? "" : "tests/"}${test}_test.ts`;
}

/** What is done to the only node in a place that matches; texts are compared on one line, without comments. */
export type Edit =
  /** Takes a statement out. */
  | { readonly remove: RegExp }
  /** Takes one side of `&&`, `||` or `??` out. */
  | { readonly drop: RegExp }
  /** Puts something in the place of an expression. */
  | { readonly replace: RegExp; readonly by: string };

/** Returns the faults of a target that the tests of one file must notice, by what goes wrong. */
function of(
  target: string,
  test: string,
  faults: Readonly<Record<string, Pick<Fault, "place" | "edit" | "open">>>,
): Fault[] {
  return Object.entries(faults).map(([name, fault]) => ({ name, target, test, ...fault }));
}

/** The faults. Each has survived all tests, or a campaign of injected faults, at some time. */
export const FAULTS: readonly Fault[] = [
  ...of("acquire", "lock/acquire", {
    "a wait that was given up is never taken out of the queue": {
      place: "Acquisition.#undo",
      edit: { replace: /^\(\) => this\.#store\.release\(this\.claim\)$/, by: "() => {}" },
    },
  }),
  ...of("acquire", "contract/release", {
    "a release is never sent": {
      place: "releaseWithRetry",
      edit: { replace: /^await store\.release\(claim\)$/, by: "true" },
    },
  }),
  ...of("acquire", "lock/at_least", {
    "a lock that is to be kept for a while is released": {
      place: "releaseWithRetry",
      edit: { replace: /^last === undefined$/, by: "true" },
    },
  }),
  ...of("etcd", "stores/etcd/key_events", {
    "of the events of a message only the first is told": {
      place: "KeyEvents.#run",
      edit: { replace: /^events\?\.at\(-1\)$/, by: "events?.[0]" },
    },
    "an event is not told to those who wait for just that revision": {
      place: "KeyEvents.#tell",
      edit: { replace: /^wanted <= revision$/, by: "wanted < revision" },
    },
    "a stream whose connection may be lost is used on": {
      place: "EtcdWatches.watch",
      edit: { remove: /endIfSilent\(\);$/ },
    },
  }),
  ...of("zookeeper", "stores/zookeeper/watch", {
    "a watch that could not be set is kept for good": {
      place: "NodeWatches.#begin",
      edit: { remove: /^set\.catch\(end\);$/ },
    },
  }),
  ...of("zookeeper", "stores/zookeeper/sync", {
    "a read goes ahead of its sync": {
      place: "ZookeeperBackend.#synced",
      edit: {
        replace: /^Promise\.allSettled\(\[this\.#connection\.sync\(\), request\(\)\]\)$/,
        by: "Promise.allSettled([request(), this.#connection.sync()]).then(([answer, synced]) => [synced, answer])",
      },
    },
  }),
  ...of("zookeeper", "stores/zookeeper/client", {
    "a connection is ended because an earlier one was slow": {
      place: "ZookeeperConnection.#unconnectedError",
      edit: { drop: /^this\.#slow\.socket !== socket$/ },
    },
  }),
  ...of("lease", "lock/lease", {
    "a grant that came after its deadline is accepted": {
      place: "Lease.begin",
      edit: { replace: /^this\.#times\.left\(now\) <= 0$/, by: "false" },
    },
    "the deadline counts from the reply to the attempt": {
      place: "Lease.begin",
      edit: {
        replace: /^this\.#setTimer\(now\)$/,
        by: "(this.#times.sent(now, this.claim.lease), this.#times.renewed(this.claim.lease), this.#setTimer(now))",
      },
    },
    "the deadline counts from the reply to the renewal": {
      place: "Renewals.send",
      edit: {
        replace: /^this\.#times\.renewed\(trusted\)$/,
        by: "(this.#times.sent(now, trusted), this.#times.renewed(trusted))",
      },
    },
    "a renewal that came after the deadline is accepted": {
      place: "Renewals.send",
      edit: { replace: /^this\.#times\.left\(now\) > 0$/, by: "true" },
    },
  }),
  ...of("handoff", "handoff/revocation", {
    "a lock is handed on that an eviction has taken which was sent before": {
      place: "HandoffStore.#revoke",
      edit: {
        replace: /^new Set\(\[\.\.\.grants\.keys\(\), \.\.\.this\.place\.sharing\(name\)\]\)$/,
        by: "grants.keys()",
      },
    },
    "a lock that is never released is watched for ever": {
      place: "Grant.#watchLease",
      edit: { remove: /^if \(left <= 0\) return this\.#unwatch\(\)/ },
    },
    "a lock whose lease was shortened is watched for as long as before": {
      place: "Grant.#watchLease",
      edit: { replace: /^Math\.min\(left, LEASE_CHECK_MS\)$/, by: "left" },
    },
  }),
  ...of("handoff", "handoff/ended", {
    "a name stays in memory whose lock is never released": {
      place: "LocalGrants.forgetEnded",
      edit: { remove: /^if \(this\.#current\?\.lease\.hasEnded\(now\)\)/ },
    },
  }),
  ...of("handoff", "handoff/sleepers", {
    "nobody is woken when the one that asks for all gives up": {
      place: "NameHandoff.#leave",
      edit: { remove: /^this\.#grants\.wakeLeaders\(\)/ },
    },
  }),
  ...of("handoff", "handoff/unanswered", {
    "a waiter that is never answered ends the handoff": {
      place: "LocalQueue.first",
      edit: { drop: /^handle\.canLead\(now\)$/ },
    },
  }),
  ...of("handoff", "handoff/short_leases", {
    "a waiter whose lease is too short to be handed the lock sleeps": {
      place: "LocalQueue.leaders",
      edit: { replace: /^!this\.canShare\(handle\)$/, by: "false" },
    },
  }),
  ...of("handoff", "handoff/members", {
    "a lease is fresh while a renewal of it is not answered": {
      place: "ProcessLease.isFresh",
      edit: { drop: /^this\.#asked !== undefined$/ },
    },
  }),
  ...of("handoff", "handoff/late", {
    "what was granted before an eviction is handed on after it": {
      place: "LocalAttempts.#granted",
      edit: { replace: /^sent\.revocations === this\.#grants\.revocations$/, by: "true" },
    },
  }),
  ...of("handoff", "handoff/claims", {
    "a lock that lingers is given back before its renewal is answered, so that a try finds it busy": {
      place: "lingerOn",
      edit: { replace: /^renewing === undefined$/, by: "true" },
    },
  }),
  ...of("redlock", "redlock/attempt/quorum_attempt", {
    "a minority renews": {
      place: "Nodes.majority",
      edit: { replace: /^this\.needed$/, by: "Math.max(1, this.needed - 1)" },
    },
    "the fence that a majority did not confirm is forgotten": {
      place: "QuorumAttempt.#confirm",
      edit: { remove: /^this\.#highest\.note\(end\)/ },
    },
  }),
  ...of("redlock", "redlock/failing_nodes", {
    "of the rounds that kept a place only the first is looked at": {
      place: "NodeVote.#last",
      edit: { remove: /^while / },
    },
  }),
  ...of("redlock", "redlock/attempt/rounds", {
    "the vote counts of a node whose queue was left": {
      place: "QuorumAttempt.#askCoordinator",
      edit: { remove: /^if \(left !== undefined\)/ },
    },
    "a round that is being released is renewed": { place: "RedlockStore.renew", edit: { drop: /^round\.released$/ } },
    "a round that was released meanwhile is kept after its renewal": {
      place: "RedlockStore.renew",
      edit: { replace: /^!round\.released$/, by: "true" },
    },
  }),
  ...of("compat", "packages/compat/tests/limited_store", {
    "an attempt that a wake-up brings uses up a retry": {
      place: "LimitedStore.attempt",
      edit: { replace: /^this\.#now\(\) >= this\.#dueAt$/, by: "true" },
    },
    "a call ends before its last attempt": {
      place: "LimitedStore.#refuse",
      edit: { replace: /^this\.#made >= attempts$/, by: "this.#made + 1 >= attempts" },
    },
  }),
  ...of("compat", "packages/compat/tests/options", {
    "the first attempt is one of the retries": {
      place: "limitsOf",
      edit: { replace: /^retryCount \+ 1$/, by: "retryCount" },
    },
  }),
  ...of("clients", "stores/redis/clients/bun", {
    "a second client of Bun that is made after the close stays connected": {
      place: "BunPort.#subscribe.connect",
      edit: { remove: /^if \(isClosed\) return client\.close\(\);$/ },
    },
  }),
  ...of("clients", "stores/redis/clients/node_redis/second_connection", {
    "a second client of node-redis that connects after the close stays connected": {
      place: "subscribeOver.connect",
      edit: { remove: /^if \(isClosed\) destroy\(client!\);$/ },
    },
  }),
  ...of("clients", "stores/redis/clients/connection_events", {
    "what waits for a connection of node-redis waits on after the close": {
      place: "NodeRedisPort.constructor.closed",
      edit: { remove: /^this\.#database\.closed\(/ },
    },
  }),
  ...of("clients", "stores/redis/clients/upstash/rest_client", {
    "a request over REST without an answer is no cut": {
      place: "WordsPort.send",
      edit: { remove: /^this\.connection\.cut\(\);$/ },
    },
    "an answer of REST that may come from a proxy proves that nothing was done": {
      place: "resultOf",
      edit: { remove: /^if \(mayBeDone\(/ },
    },
  }),
  ...of("durable_object", "stores/durable_object/holding", {
    "a wait of a caller that is gone is held open": {
      place: "LockServer.#hold",
      edit: { remove: /^if \(signal\?\.aborted\) end\(\);$/ },
    },
    "a wait that was replaced hides the one that has replaced it": {
      place: "LockServer.#hold",
      edit: { replace: /^this\.#held\.get\(key\) === controller$/, by: "true" },
    },
  }),
  ...of("durable_object", "stores/durable_object/call_numbers", {
    "a call of a handle that comes again is executed again": {
      place: "CallNumbers.accept",
      edit: { replace: /^number <= \(this\.#calls\.get\(caller\)\?\.\[1\] \?\? -1\)$/, by: "false" },
    },
  }),
  ...of("durable_object", "stores/durable_object/requests", {
    "a lock object's reply to another call is taken": {
      place: "parseReply",
      edit: { replace: /^fits\(reply, REPLIES\[what\]\)$/, by: "true" },
    },
  }),
  ...of("sqlite", "stores/sqlite/kinds", {
    "a ticket that the file has lost is not restored": {
      place: "FileStore.#writeAttempt",
      edit: { replace: /^waiter\?\.ticket$/, by: "undefined" },
    },
  }),
  ...of("sqlite", "stores/sqlite/dead_clients", {
    "a heartbeat from the future counts for ever": {
      place: "ALIVE",
      edit: { replace: /^"\(q\.client = \? OR abs\(\? - c\.seen\) < \?\)"$/, by: '"(q.client = ? OR ? - c.seen < ?)"' },
    },
  }),
  ...of("postgres", "stores/postgres/notifications", {
    "a connection that was lost during its probe counts as open": {
      place: "Notifications.#open",
      edit: { remove: /^if \(isLost\)/ },
    },
    "notifications that were lost before a watch are not missed": {
      place: "Notifications.#mayBeOld",
      edit: { drop: /^asked\.at < this\.#openedAt$/ },
    },
    "a connection over which nobody watches after all stays open": {
      place: "Notifications.#open",
      edit: { remove: /^this\.#closeLater\(\);$/ },
    },
    "every store with waiters reads at each handoff": {
      place: "Notifications.#notified",
      edit: { replace: /^heir === undefined \|\| heir === watch\.store$/, by: "true" },
    },
  }),
  ...of("postgres", "stores/postgres/connections", {
    "a statement over pg waits for ever": {
      place: "PostgresConnections.#sendToPg",
      edit: { replace: /^\{ text, \.\.\.prepared, "query_timeout": limit \}$/, by: "{ text, ...prepared }" },
    },
  }),
  ...of("mysql", "stores/mysql/connections", {
    "a connection that does not answer is kept": {
      place: "Mysql2Connections.run",
      edit: { drop: /^code === TIMED_OUT$/ },
    },
    "rows that the server leaves out are not missed": {
      place: "MysqlBackend.#look",
      edit: { remove: /^if \(Number\(limit\) < SCARCE_ROWS\)/ },
    },
    "a statement that waits for a connection is late without a reason": {
      place: "Mysql2Connections.#connection",
      edit: { remove: /^this\.#waiting\+\+/ },
    },
  }),
  ...of("guard", "guard/anomalies", {
    "the fence that a snapshot has is taken for the last one": {
      place: "inMysql",
      edit: { replace: /^`\$\{select\} FOR UPDATE`$/, by: "select" },
    },
    "a transaction whose snapshot is older than its lock is accepted": {
      place: "inMysql",
      edit: { remove: /^if \(await fenceOf\(select\) !== present\)/ },
    },
    "a savepoint is taken for the transaction": {
      place: "inPostgres",
      edit: { remove: /^if \(Number\(row\[0\]\) !== 1\)/ },
    },
  }),
  ...of("cas", "engine/sweeper", {
    "names that are made have no others removed": {
      place: "CasLock.#write",
      edit: { remove: /^if \(seen\.isAbsent\)/ },
    },
    "stores that sweep at the same time look at one page": {
      place: "DocumentSweeper.#takePage",
      edit: {
        replace: /^\(await this\.#backend\.write\(POSITION, cursor, position\.version, \{\}\)\)\.written$/,
        by: "await this.#backend.write(POSITION, cursor, position.version, {})",
      },
    },
  }),
  ...of("cas", "engine/seen", {
    "a clock that was set forward during a call counts": {
      place: "Seen.isStale",
      edit: { replace: /^Math\.abs\(monotonic - wall\)$/, by: "(monotonic - wall)" },
    },
    "an old time of the server is as young as the reply": {
      place: "Seen.replaced",
      edit: { replace: /^this\.#trip$/, by: "trip" },
    },
    "the time of the server stands still while the machine sleeps": {
      place: "Seen.latest",
      edit: { replace: /^elapsed\(this\.#trip\.sentAt, now\)$/, by: "(now.monotonic - this.#trip.sentAt.monotonic)" },
    },
    "a document is looked at that a plan changes": {
      place: "Seen.take",
      edit: { remove: /^this\.#document = undefined;$/ },
    },
    "the length of a document is that of its text": {
      place: "Seen.isLongerThan",
      edit: { replace: /^this\.bytes\(\)$/, by: "length" },
    },
    "what is seen for the first time is new": { place: "Seen.constructor", edit: { replace: /^Infinity$/, by: "0" } },
    "what is seen again is new": {
      place: "Seen.constructor",
      edit: { replace: /^before\.#known\(period\)$/, by: "undefined" },
    },
    "what may be old is as young as the slower clock says": {
      place: "Seen.ageAtMost",
      edit: { replace: /^elapsed\(known\.firstSeen, now\)$/, by: "leastElapsed(known.firstSeen, now)" },
    },
  }),
  ...of("cas", "engine/tidy", {
    "of several leases that are over the server checks the last one alone": {
      place: "tidy",
      edit: { replace: /^Math\.max\(notBefore \?\? 0, end\)$/, by: "end" },
    },
  }),
  ...of("cas", "engine/own_waiters", {
    "a waiter that was struck off sleeps on": { place: "OwnWaiters.wakeFor", edit: { drop: /^absent$/ } },
    "a member of a run is woken as one that was struck off": {
      place: "attempt.grant",
      edit: { remove: /^local\.take\(run\);$/ },
    },
    "a waiter is dead while its attempt is not answered": {
      place: "OwnWaiters.#isAlive",
      edit: { drop: /^attempts > 0$/ },
    },
    "a member of a run is a waiter": { place: "OwnWaiters.owns", edit: { drop: /^!waiter\.isTaken$/ } },
    "a new remote object knows handles that have not asked it": {
      place: "OwnWaiters.owns",
      edit: { drop: /^!isKnown$/ },
    },
    "a waiter lives on while its machine sleeps": {
      place: "OwnWaiters.#isAlive",
      edit: {
        replace: /^elapsed\(activeAt, this\.#clock\.now\(\)\)$/,
        by: "(this.#clock.now().monotonic - activeAt.monotonic)",
      },
    },
    "an older reply takes the place of a waiter away": {
      place: "OwnWaiters.keepPlace",
      edit: { replace: /^waiter\.place \?\?= \{ ticket, queuedAt \}$/, by: "waiter.place = { ticket, queuedAt }" },
    },
    "the last attempt comes when the wait is over": {
      place: "OwnWaiters.retryAfter",
      edit: { replace: /^Math\.min\(ms, untilLast\)$/, by: "ms" },
    },
    "a handle is dead that gives its place away": {
      place: "OwnWaiters.succeed",
      edit: { replace: /^this\.notice\(from\)$/, by: "this.get(from)" },
    },
    "all of a crowd start timers": {
      place: "OwnWaiters.patienceInQueue",
      edit: { replace: /^\(1 \+ rank\)$/, by: "1" },
    },
  }),
  ...of("cas", "engine/revocation", {
    "a look for a loss that has failed is the last one": {
      place: "CasStore.revocation",
      edit: { replace: /^asking = false$/, by: "undefined" },
    },
  }),
  ...of("cas", "engine/watcher", {
    "a waiter sleeps on when its last notification came late": {
      place: "WatchedLock.#wait",
      edit: { replace: /^this\.#isLong \? 0 : VAIN$/, by: "0" },
    },
  }),
  ...of("cas", "engine/timers", {
    "a renewal leaves the timer of the one before named": {
      place: "renew",
      edit: { replace: /^view\.timerFor\(holder\.lease\)$/, by: "view.timerFor(holder.lease) ?? holder.timer" },
    },
    "a timer is named that does not last for the lease": {
      place: "OwnTimers.lasting",
      edit: { replace: /^left >= ms$/, by: "left > 0" },
    },
    "a timer is counted by the monotonic clock alone": {
      place: "leftOf",
      edit: { replace: /^elapsed\(sentAt, now\)$/, by: "(now.monotonic - sentAt.monotonic)" },
    },
    "a timer is trusted to the end by a clock that drifts": {
      place: "leftOf",
      edit: { replace: /^drift\(ms\)$/, by: "0" },
    },
    "a timer is over because the server did not answer": {
      place: "OwnTimers.areOver",
      edit: { replace: /^false$/, by: "true" },
    },
    "a timer that is being started outlives the last lock": {
      place: "OwnTimers.drop",
      edit: { remove: /^over\.abort\(\);$/ },
    },
    "a renewal waits for a timer": {
      place: "CasStore.renew",
      edit: {
        replace: /^timers\?\.keep\(handleOf\(claim\), claim\.lease\)$/,
        by: "await timers?.provide([claim.lease])",
      },
    },
    "no caller starts a timer for a holder that has none": {
      place: "isTooShort",
      edit: { replace: /^patience < view\.left\(period\) \+ WATCHED_MS$/, by: "false" },
    },
    "a client's clock is compared although the server has timers": {
      place: "CasLock.#view",
      edit: { drop: /^this\.#succession === undefined$/ },
    },
  }),
  ...of("cas", "engine/plan", {
    "what has failed is answered from an old document": {
      place: "planOf",
      edit: { replace: /^\{ needs: "read", answer \}$/, by: '{ needs: "seen", answer }' },
    },
    "a plan needs what the call needs that needs least": {
      place: "planOf",
      edit: {
        replace: /^NEEDS\.find\(\(need\) => all\.includes\(need\)\)$/,
        by: "NEEDS.findLast((need) => all.includes(need))",
      },
    },
    "a lease that may have ended since the server told its time is not asked for": {
      place: "planOf",
      edit: { replace: /^end <= now$/, by: "end < now" },
    },
    "timers are named where they keep nobody waiting": {
      place: "planOf",
      edit: { drop: /^effects\.some\(\(\[, \{ blocked \}\]\) => blocked\)$/ },
    },
    "that a process was passed over is no news": { place: "planOf", edit: { drop: /^passesOver$/ } },
    "room for waiters is given out twice": { place: "roomIn", edit: { remove: /^taken \+= bytes;$/ } },
    "renewals have no room for the names of timers": {
      place: "roomIn",
      edit: { replace: /^\(HOLDER_GROWTH_BYTES \+ timerBytes\)$/, by: "HOLDER_GROWTH_BYTES" },
    },
    "writes are noted that may be executed twice": { place: "noteWrite", edit: { remove: /^if \(!effects\.some/ } },
  }),
  ...of("cas", "engine/view", {
    "who cannot watch goes by the written end alone": {
      place: "DocumentView.left",
      edit: { replace: /^Math\.min\(unseen, end \+ this\.skew - this\.now\)$/, by: "end - this.now" },
    },
    "what was seen for long enough lasts on by a clock that was set back": {
      place: "DocumentView.left",
      edit: { replace: /^Math\.min\(unseen, end \+ this\.skew - this\.time\)$/, by: "end + this.skew - this.time" },
    },
    "a timer is over of which the server knows nothing": {
      place: "DocumentView.left",
      edit: {
        replace: /^this\.#options\.answers\.get\(timer\) === true$/,
        by: "this.#options.answers.has(timer) && this.#options.answers.get(timer) !== false",
      },
    },
    "nobody starts a timer in the place of one that is unknown": {
      place: "DocumentView.timerOf",
      edit: { replace: /^isUnknown \? undefined : timer$/, by: "timer" },
    },
  }),
  ...of("cas", "engine/contention", {
    "a call that is refused again and again never pauses for longer": {
      place: "DocumentContention.refused",
      edit: { replace: /^this\.#pauses\+\+$/, by: "this.#pauses" },
    },
    "calls pause for long after a write that was accepted": {
      place: "DocumentContention.accepted",
      edit: { remove: /^this\.#pauses = 0;$/ },
    },
    "an urgent call that may not be passed leaves those behind it": {
      place: "DocumentContention.refused",
      edit: { drop: /^urgent\.some\(\(\{ change \}\) => !change\.passes\)$/ },
    },
    "a call pauses although it has only seen an old document": {
      place: "DocumentContention.refused",
      edit: { remove: /^if \(looks && yields === 0\)/ },
    },
    "a crowd that enters the queue lets nobody pass": {
      place: "yieldMs",
      edit: { replace: /^counter % IN_A_ROW === 0$/, by: "false" },
    },
    "a waiter is refused for longer than its caller believes": {
      place: "DocumentContention.patient",
      edit: { replace: /^LONGEST_WAITING_MS$/, by: "LONGEST_MS" },
    },
  }),
];
