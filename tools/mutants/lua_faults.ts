import type { Stage } from "./targets.ts";

/**
 * A fault in a script, planted on the line after the comment `-- @place NAME`. The comment stands where a promise is
 * kept; how it is kept may change, and the fault is then written anew.
 */
export interface LuaFault {
  /** What goes wrong. */
  readonly name: string;
  /** The name in the comment. */
  readonly place: string;
  /** What is wrong of the line, and instead; without it the line is taken out. */
  readonly edit?: readonly [wrong: RegExp, instead: string];
  /** The tests that notice. */
  readonly stage: Stage;
  /** No test notices it yet. */
  readonly open?: true;
}

const SCRIPTS: Stage = { tests: /^tests\/stores\/redis\/scripts\w*_test\.ts$/ };
const KINDS: Stage = { tests: /^tests\/stores\/redis\/kinds\w*_test\.ts$/ };
const RUNS: Stage = { tests: /^tests\/stores\/redis\/(runs|fences)\w*_test\.ts$/ };
const MEMBERS: Stage = { tests: /^tests\/stores\/redis\/members\w*_test\.ts$/ };
const RECORDS: Stage = { tests: /^tests\/stores\/redis\/records\w*_test\.ts$/ };
const VOTES: Stage = { tests: /^tests\/stores\/redis\/vote\w*_test\.ts$/ };
/** Random sequences of calls, compared with those on a store in memory. */
const MODEL: Stage = { tests: /^tests\/redlock\/model\w*_test\.ts$/ };

/** Returns the faults that the tests of a stage must notice, by what goes wrong. */
function of(stage: Stage, faults: Readonly<Record<string, Pick<LuaFault, "place" | "edit" | "open">>>): LuaFault[] {
  return Object.entries(faults).map(([name, fault]) => ({ name, stage, ...fault }));
}

/** The faults in scripts. */
export const LUA_FAULTS: readonly LuaFault[] = [
  ...of(SCRIPTS, {
    "a lock is kept for a waiter that has died as long as its lease": {
      place: "reservation",
      edit: [/math\.min\((.*), \$RESERVATION_MS\)\)/, "$1)"],
    },
    "a dead waiter is never passed over": {
      place: "waiter-alive",
      edit: [/ and now - seen < \$WAITER_TIMEOUT_MS/, ""],
    },
    "a fence may be that of the holder before": { place: "fence-compare", edit: [/>=/, ">"] },
    "a fence that is the counter already is confirmed": { place: "confirm-compare", edit: [/>=/, ">"] },
    "a lock is taken again although others had it meanwhile": { place: "retake-fence" },
    "a ticket is earlier than the last one when the clock was set back": { place: "ticket-order" },
    "a reserved lock gets a shorter lease when it is claimed": {
      place: "reserved-lease",
      edit: [/math\.max\((lease_ms), .*\)\)$/, "$1)"],
    },
  }),
  ...of({ tests: /^tools\/lua\/scripts_test\.ts$/ }, {
    "a waiter does not keep the others of its process alive": { place: "others-alive" },
  }),
  ...of(KINDS, {
    "the next but one is not told to look again": { place: "wake-next" },
    "a fence is confirmed to one that does not hold the lock": { place: "confirm-owner" },
    "a repeated attempt makes the lease of a shared hold shorter": { place: "holder-lease", edit: [/ 'GT',/, ""] },
    "a rival renews a shared lock that one alone holds": { place: "renew-sole", edit: [/sole == handle/, "sole"] },
  }),
  ...of(MODEL, {
    "a counter that was the guess already counts as raised to it": { place: "vote-raised", edit: [/ < /, " <= "] },
    "a counter within a block is raised to its end": {
      place: "vote-raised",
      edit: [/number < tonumber\(fence\)/, "number < tonumber(counter)"],
    },
    "a counter above the guess is lowered to it": { place: "counter-put-back" },
  }),
  ...of(VOTES, {
    "a guess that is far ahead of the clock raises the counter": { place: "guess-skew", edit: [/=.*$/, "= true"] },
    "a quorum does without a coordinator although a living waiter is ahead": { place: "ahead-alive" },
    "a quorum does without a coordinator that has just granted the lock": { place: "held-since" },
  }),
  ...of(RUNS, {
    "a run goes on behind a waiter of another cohort": { place: "run-member", edit: [/theirs == group and /, ""] },
    "a run goes on behind a waiter that has died": {
      place: "run-member",
      edit: [/ and now - seen < \$WAITER_TIMEOUT_MS/, ""],
    },
    "a run has no end": { place: "run-length", edit: [/ or #run == \$MAX_RUN/, ""] },
    "the members of a run stay in the queue": { place: "run-leaves" },
    "those that do not fit into a run leave the queue with it": { place: "run-leaves", edit: [/, 1, extra/, ""] },
    "the counter of fences is left at the start of a block": { place: "block-end", edit: [/ \+ extra/, ""] },
    "the counter of fences is left at the start of a block that is ahead of the clock": {
      place: "block-end-ahead",
      edit: [/ \+ extra/, ""],
    },
    "a block is further ahead of the clock than 10 ms": {
      place: "block-lead",
      edit: [/math\.min\(clock \+ \$BLOCK_LEAD_US, (\$MAX_FENCE)\)/, "$1"],
    },
    "a grant does not say that others wait": { place: "contended", edit: [/contended or /, ""] },
  }),
  ...of(MEMBERS, {
    "no process but their own sees the members of a run": { place: "run-noted" },
    "waiters that stay in the queue are noted as members of a run": { place: "run-noted", edit: [/extra/, "#run"] },
    "the members of a run are noted for ever": { place: "members-ttl", edit: [/, 'PX', ms/, ""] },
    "the members of a run are listed under every later holder": { place: "members-holder" },
    "the members of a run are left behind after its release": { place: "members-end", edit: [/, KEYS\.grants/, ""] },
  }),
  ...of({
    tests: /^tests\/stores\/redis\/store_test\.ts$/,
    filter: /^redis over ioredis 6 with RESP3: query\(\) lists/,
  }, {
    "a member that waits in the queue again is listed twice": {
      place: "member-once",
      edit: [/not in_queue\[handle\]/, "true"],
    },
  }),
  ...of(RECORDS, {
    "what is known of a sole holder is lost when another one joins": { place: "record-kept" },
    "the end of a block is listed as the fence of its holder": { place: "block-record" },
    "a rival is listed with the meta of the last holder": {
      place: "last-granted",
      edit: [/handle == last_granted/, "last_granted"],
    },
  }),
];
