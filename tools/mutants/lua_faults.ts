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

/** The faults in scripts. */
export const LUA_FAULTS: readonly LuaFault[] = [
  {
    name: "a lock is kept for a waiter that has died as long as its lease",
    place: "reservation",
    edit: [/math\.min\((.*), \$RESERVATION_MS\)\)/, "$1)"],
    stage: SCRIPTS,
  },
  {
    name: "a dead waiter is never passed over",
    place: "waiter-alive",
    edit: [/ and now - seen < \$WAITER_TIMEOUT_MS/, ""],
    stage: SCRIPTS,
  },
  {
    name: "a waiter does not keep the others of its process alive",
    place: "others-alive",
    stage: { tests: /^tools\/lua\/scripts_test\.ts$/ },
  },
  {
    name: "the next but one is not told to look again",
    place: "wake-next",
    stage: KINDS,
  },
  {
    name: "a fence may be that of the holder before",
    place: "fence-compare",
    edit: [/>=/, ">"],
    stage: SCRIPTS,
  },
  {
    name: "a counter that was the guess already counts as raised to it",
    place: "vote-raised",
    edit: [/ < /, " <= "],
    stage: MODEL,
  },
  {
    name: "a counter within a block is raised to its end",
    place: "vote-raised",
    edit: [/number < tonumber\(fence\)/, "number < tonumber(counter)"],
    stage: MODEL,
  },
  {
    name: "a guess that is far ahead of the clock raises the counter",
    place: "guess-skew",
    edit: [/=.*$/, "= true"],
    stage: VOTES,
  },
  {
    name: "a quorum does without a coordinator although a living waiter is ahead",
    place: "ahead-alive",
    stage: VOTES,
  },
  {
    name: "a quorum does without a coordinator that has just granted the lock",
    place: "held-since",
    stage: VOTES,
  },
  {
    name: "a counter above the guess is lowered to it",
    place: "counter-put-back",
    stage: MODEL,
  },
  {
    name: "a fence that is the counter already is confirmed",
    place: "confirm-compare",
    edit: [/>=/, ">"],
    stage: SCRIPTS,
  },
  {
    name: "a fence is confirmed to one that does not hold the lock",
    place: "confirm-owner",
    stage: KINDS,
  },
  {
    name: "a lock is taken again although others had it meanwhile",
    place: "retake-fence",
    stage: SCRIPTS,
  },
  {
    name: "a ticket is earlier than the last one when the clock was set back",
    place: "ticket-order",
    stage: SCRIPTS,
  },
  {
    name: "a reserved lock gets a shorter lease when it is claimed",
    place: "reserved-lease",
    edit: [/math\.max\((lease_ms), .*\)\)$/, "$1)"],
    stage: SCRIPTS,
  },
  {
    name: "a repeated attempt makes the lease of a shared hold shorter",
    place: "holder-lease",
    edit: [/ 'GT',/, ""],
    stage: KINDS,
  },
  {
    name: "a rival renews a shared lock that one alone holds",
    place: "renew-sole",
    edit: [/sole == handle/, "sole"],
    stage: KINDS,
  },
  {
    name: "a run goes on behind a waiter of another cohort",
    place: "run-member",
    edit: [/theirs == group and /, ""],
    stage: RUNS,
  },
  {
    name: "a run goes on behind a waiter that has died",
    place: "run-member",
    edit: [/ and now - seen < \$WAITER_TIMEOUT_MS/, ""],
    stage: RUNS,
  },
  {
    name: "a run has no end",
    place: "run-length",
    edit: [/ or #run == \$MAX_RUN/, ""],
    stage: RUNS,
  },
  {
    name: "the members of a run stay in the queue",
    place: "run-leaves",
    stage: RUNS,
  },
  {
    name: "no process but their own sees the members of a run",
    place: "run-noted",
    stage: MEMBERS,
  },
  {
    name: "waiters that stay in the queue are noted as members of a run",
    place: "run-noted",
    edit: [/extra/, "#run"],
    stage: MEMBERS,
  },
  {
    name: "the members of a run are noted for ever",
    place: "members-ttl",
    edit: [/, 'PX', ms/, ""],
    stage: MEMBERS,
  },
  {
    name: "the members of a run are listed under every later holder",
    place: "members-holder",
    stage: MEMBERS,
  },
  {
    name: "a member that waits in the queue again is listed twice",
    place: "member-once",
    edit: [/not in_queue\[handle\]/, "true"],
    stage: {
      tests: /^tests\/stores\/redis\/store_test\.ts$/,
      filter: /^redis over ioredis 6 with RESP3: query\(\) lists/,
    },
  },
  {
    name: "the members of a run are left behind after its release",
    place: "members-end",
    edit: [/, KEYS\.grants/, ""],
    stage: MEMBERS,
  },
  {
    name: "those that do not fit into a run leave the queue with it",
    place: "run-leaves",
    edit: [/, 1, extra/, ""],
    stage: RUNS,
  },
  {
    name: "the counter of fences is left at the start of a block",
    place: "block-end",
    edit: [/ \+ extra/, ""],
    stage: RUNS,
  },
  {
    name: "the counter of fences is left at the start of a block that is ahead of the clock",
    place: "block-end-ahead",
    edit: [/ \+ extra/, ""],
    stage: RUNS,
  },
  {
    name: "a block is further ahead of the clock than 10 ms",
    place: "block-lead",
    edit: [/math\.min\(clock \+ \$BLOCK_LEAD_US, (\$MAX_FENCE)\)/, "$1"],
    stage: RUNS,
  },
  {
    name: "a grant does not say that others wait",
    place: "contended",
    edit: [/contended or /, ""],
    stage: RUNS,
  },
  {
    name: "what is known of a sole holder is lost when another one joins",
    place: "record-kept",
    stage: RECORDS,
  },
  {
    name: "the end of a block is listed as the fence of its holder",
    place: "block-record",
    stage: RECORDS,
  },
  {
    name: "a rival is listed with the meta of the last holder",
    place: "last-granted",
    edit: [/handle == last_granted/, "last_granted"],
    stage: RECORDS,
  },
];
