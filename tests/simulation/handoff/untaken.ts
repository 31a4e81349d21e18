import type { Untaken } from "../kernel/branches.ts";

/** Branches of the handoff that no seed takes, by the file, and by what takes them instead. */
// deno-fmt-ignore
export const UNTAKEN: Untaken = {
  "handoff/grant.ts": {
    "memory() tells no meta of who evicts without one: tests/handoff/revocation_test.ts": [
      "watch never there: by",
    ],
    "a store whose notice fails: tests/handoff/faults_test.ts": [
      "watch never called: () => {}",
    ],
  },
  "handoff/handle.ts": {
    "a handle that asks while the lock is reserved for it: tests/handoff/ended_test.ts": [
      "sends never false: this.state !== \"next\"",
    ],
    "a place that is given back while an attempt is on its way: tests/handoff/faults_test.ts": [
      "#answered never called: async () => { while (this.unanswered > 0) await this.#sent.answer.catch(() => {}",
      "#answered never false: this.unanswered > 0",
      "#answered never called: () => {}",
      "#answered never true: this.unanswered > 0",
    ],
    "a caller that listens or has left is no longer watched: a second line": [
      "unheard never true: !this.waits",
      "unheard never true: !this.waits || this.#wake !== undefined",
      "unheard never true: !this.waits || this.#wake !== undefined || elapsed(this.#heardAt, now) < UNHEARD",
    ],
    "an attempt that is never answered, after its caller has given up: tests/handoff/unanswered_test.ts": [
      "unheard never true: elapsed(sentAt, now) < UNHEARD_MS + GRACE_MS",
    ],
    "a handle that listens twice, which acquire() never does: tests/handoff/handle_test.ts": [
      "listen never false: this.#wake === woken",
    ],
  },
  "handoff/handoff_store.ts": {
    "names that are left without a release, of which it takes 2,000: tests/handoff/ended_test.ts": [
      "never called: (state, old) => { if (state instanceof NameHandoff) state.prune(); return old &&",
      "never false: state instanceof NameHandoff",
      "never true: state instanceof NameHandoff",
      "never true: old",
      "never false: old",
      "never called: (_, old) => old",
      "constructor never called: (_, old) => old",
    ],
    "a store that does not say what it can do: tests/handoff/claims_test.ts": [
      "constructor never missing: target.capabilities",
    ],
    "a store that cannot do that: tests/handoff/claims_test.ts": [
      "constructor never false: target.evict !== undefined",
      "constructor never false: target.query !== undefined",
    ],
    "cohort() asks for it: tests/cohort/mod_test.ts": [
      "never called: get stopped(): boolean { return this.#stopped; }",
    ],
    "a process whose only handle of a name is left without a release: tests/handoff/ended_test.ts": [
      "names never false: typeof state === \"string\"",
    ],
    "a store that cannot be closed: tests/handoff/claims_test.ts": [
      "closed never missing: this.target.closed",
    ],
    "a store that does not answer: tests/cohort/mod_test.ts": [
      "stop never called: () => {}",
    ],
    "a handle that was alone when the sharing ended: tests/handoff/claims_test.ts": [
      "#share never true: this.#stopped",
    ],
    "a handle that steals after it has waited, which acquire() never does: tests/cohort/revocation_test.ts": [
      "#steal never true: state instanceof NameHandoff && state.drop(handleOf(claim))",
    ],
    "a handle that has handed the lock on: tests/handoff/claims_test.ts": [
      "#evict never true: isMeant(meant, { handle: id, fence })",
    ],
  },
  "handoff/local_attempts.ts": {
    "an attempt that is never answered, after its caller has given up: tests/handoff/unanswered_test.ts": [
      "#ask never called: () => this.#grants.drop(handle)",
    ],
    "a grant to a handle that was released meanwhile, which acquire() waits for: tests/handoff/late_test.ts": [
      "#granted never false: handle.state === \"left\"",
      "#granted never true: handle.state === \"left\" && !this.#grants.isHandedOn(handle.id)",
    ],
    "a grant although a grant is handed on, which the store has lost: tests/handoff/late_test.ts": [
      "#granted never true: held !== undefined",
    ],
    "a second line: the next handle is asked for at once": [
      "#claim never true: phase.kind !== \"next\"",
    ],
    "a handle without a wait that is released while the lease is renewed for it: tests/handoff/claims_test.ts": [
      "#claim never false: grant === this.#grants.current",
      "#claim never false: grant === this.#grants.current && grant.isFor(handle)",
    ],
    "a handle that is released while the lease is renewed for it: tests/handoff/late_test.ts": [
      "#claim never false: handle.waits",
    ],
    "a holder that attempts after its release: tests/handoff/claims_test.ts": [
      "again never false: holding !== undefined",
      "again never false: holding !== undefined && !lease.over",
    ],
    "a holder that attempts again, and whose renewal is not answered: the store's answer decides": [
      "again never false: renewal === \"lost\"",
    ],
  },
  "handoff/local_grants.ts": {
    "a second line: what is over is not handed on: tests/handoff/late_test.ts": [
      "handOn never true: grant.lease.over",
    ],
    "a second line: the timer ends with the grant": [
      "#check never true: grant === undefined",
    ],
  },
  "handoff/local_queue.ts": {
    "it takes 1,000 sleeping handles: tests/handoff/local_queue_test.ts": [
      "sleepers never true: ids.length === MAX_SLEEPERS",
    ],
  },
  "handoff/name_handoff.ts": {
    "a handle that steals after it has waited, which acquire() never does: tests/cohort/revocation_test.ts": [
      "drop never true: handle !== undefined",
    ],
    "a release that is not answered: tests/handoff/claims_test.ts": [
      "renew never true: this.#grants.isHandedOn(handleOf(claim))",
      "renew never true: holding === undefined",
      "renew never true: holding === undefined || lease.over",
    ],
    "a renewal that comes after a later one: tests/handoff/claims_test.ts": [
      "renew never true: renewal < holding.renewal",
    ],
    "a holder that listens, which acquire() never does: tests/handoff/late_test.ts": [
      "wakeup never true: this.#grants.of(id) !== undefined",
    ],
    "names that are left without a release, of which it takes 2,000: tests/handoff/ended_test.ts": [
      "never called: prune(): void { const now = this.#context.clock.now(); for (const handle of this",
      "prune never false: handle.canLead(now) || handle.sentFor(now) <= FORGOTTEN_MS",
      "prune never true: handle.canLead(now)",
      "prune never true: handle.canLead(now) || handle.sentFor(now) <= FORGOTTEN_MS",
      "prune never false: handle.canLead(now)",
      "prune never called: () => {}",
    ],
  },
  "handoff/place.ts": {
    "several prefixes of one client: tests/handoff/objects_test.ts": [
      "entries never true: !key.startsWith(this.#prefix)",
      "entries never true: !key.startsWith(this.#prefix) || key === this.#prefix",
    ],
    "names that are left without a release, of which it takes 2,000: tests/handoff/objects_test.ts": [
      "never called: function prune(all: Set<NameHandoff>): boolean { for (const shared of [...all])",
    ],
  },
  "handoff/process_lease.ts": {
    "a second line: what is over is not handed on: tests/handoff/process_lease_test.ts": [
      "isFresh never true: this.#over",
    ],
    "a store that refuses releases for longer than 5 s: tests/handoff/process_lease_test.ts": [
      "undo never false: monotonicMs(began, this.#clock.now()) < RELEASE_LIMIT_MS",
      "undo never called: (resolve) => this.#clock.timer(pauseMs, resolve)",
    ],
  },
};
