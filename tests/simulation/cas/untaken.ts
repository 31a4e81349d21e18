import type { Untaken } from "../kernel/branches.ts";

/** Branches of the engine that no seed takes, by the file, and by what takes them instead. */
// deno-fmt-ignore
export const UNTAKEN: Untaken = {
  "engine/changes.ts": {
    "two renewals of one handle cross, which is rare: tests/engine/store_test.ts": [
      "renew never false: renewal >= holder.renewal",
    ],
  },
  "engine/lock.ts": {
    "names are dropped while a write of one is on its way, which is rare: tests/engine/lock_test.ts": [
      "isUseless never missing: this.last?.isStale(this.context.clock.now())",
    ],
  },
  "engine/own_waiters.ts": {
    "it takes 2,000 waiters of one name: tests/engine/own_waiters_test.ts": [
      "constructor never called: (waiter: OwnWaiter, old: boolean) => old && !this.#isAlive(waiter)",
      "constructor never true: old",
      "constructor never false: old",
    ],
    "a handle that is released while its attempt pauses, in no order that the handoff and acquire() have: tests/engine/own_waiters_test.ts": [
      "take never false: waiter !== undefined",
      "queued never false: waiter !== undefined",
      "keepPlace never false: waiter !== undefined",
    ],
  },
  "engine/plan.ts": {
    "a plan without calls, which nobody makes: tests/engine/plan_test.ts": [
      "planOf never missing: NEEDS.find((need) => all.includes(need))",
    ],
  },
  "engine/refusal.ts": {
    "a page is swept when its connection is closed, which is rare: tests/engine/sweeper_test.ts": [
      "warnOfRefusal never false: !closed",
    ],
    "it warns of a missing right, once in a process: tests/engine/sweeper_test.ts": [
      "warnOfRefusal never true: !closed && error instanceof StoreError && error.permanent",
      "warnOfRefusal never true: !closed && error instanceof StoreError",
    ],
  },
  "engine/store.ts": {
    "it reads the system's clock: tests/engine/store_test.ts": [
      "never called: export function cas<Version>(backend: Backend<Version>, options: CasOptions = {}",
      "never called: export function casOf<Version>( backend: Backend<Version> & Required<Pick<Backen",
      "never called: function storeOf<Version>(backend: Backend<Version>, options: CasOptions, client",
    ],
    "an object that was started anew asks knows() first: tests/engine/remote_test.ts": [
      "wakeup never true: waiter === undefined",
    ],
    "a write of the same process is under way when the renewal is answered, which is rare": [
      "revocation never missing: lock.last?.document",
    ],
  },
  "engine/succession.ts": {
    "a waiter looks while another one asks for longer than 0.5 s, which is rare: tests/engine/timers_test.ts": [
      "ask never true: this.#waiting !== undefined",
    ],
  },
  "engine/watcher.ts": {
    "it warns, once in a process: tests/engine/unwatched_test.ts": [
      "#noteFault never false: ++this.#unwatched < UNWATCHED",
    ],
  },
};
