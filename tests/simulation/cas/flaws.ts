import { type Engine, loadEngine } from "./engine.ts";
import type { Scenario } from "./scenario.ts";
import type { ServerFlaws } from "./server.ts";
import type { SimulationOptions } from "./simulate.ts";

/** One place of the engine with a fault in it. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A fault that the simulator must notice. */
export interface Flaw {
  /** What it must cause: anything else may be an accident. */
  readonly causes: RegExp;
  /** The runs that it can be noticed in; all when left out. */
  readonly in?: (scenario: Scenario) => boolean;
  /** What is changed in the engine's files. */
  readonly engine?: readonly Edit[];
  /** What the server does otherwise. */
  readonly server?: ServerFlaws;
  /** A seed that has noticed it, in a short run: it is tried first. */
  readonly seed?: number;
  /** Whether only the directed schedule finds it. */
  readonly directed?: boolean;
}

const FAULTY = ({ faults, crashes }: Scenario) => faults && crashes === 0;
const TIMED = ({ timers }: Scenario) => timers;
const CLOCKED = ({ clock }: Scenario) => clock;

const TWO_HOLDERS = /^both hold /;
const NEVER_RETURNS = / has a call that does not return: acquiring /;

/** Faults of the engine, and of servers. */
export const FLAWS: Readonly<Record<string, Flaw>> = {
  "clocks of clients that are compared directly": {
    causes: TWO_HOLDERS,
    in: ({ clock }) => !clock,
    engine: [{
      file: "view.ts",
      from: "this.#options.cannotWatch ? Math.min(unseen, end + this.skew - this.now) : unseen",
      to: "Math.min(unseen, end - this.now)",
    }],
  },
  "an observation by the clock that has moved further": {
    causes: TWO_HOLDERS,
    in: FAULTY,
    seed: 109,
    engine: [{
      file: "seen.ts",
      from: "Math.max(0, Math.min(to.monotonic - from.monotonic, to.wall - from.wall))",
      to: "Math.max(to.monotonic - from.monotonic, to.wall - from.wall)",
    }],
  },
  "an observation from before the read": {
    causes: TWO_HOLDERS,
    in: FAULTY,
    engine: [
      { file: "seen.ts", from: "seenFor(period, receivedAt)", to: "seenFor(period, trip.sentAt)" },
      { file: "seen.ts", from: "leastElapsed(this.#trip.receivedAt, now)", to: "leastElapsed(this.#trip.sentAt, now)" },
    ],
  },
  "a renewal that does not raise the beat": {
    causes: TWO_HOLDERS,
    in: FAULTY,
    engine: [{ file: "changes.ts", from: "holder.beat = ++document.counter;", to: "" }],
  },
  "a renewal that is answered from a read": {
    causes: TWO_HOLDERS,
    seed: 7,
    engine: [{
      file: "changes.ts",
      from: 'return { needs: "write", answer: (written) => written.holders.has(handle)',
      to: 'return { needs: "read", answer: (written) => written.holders.has(handle)',
    }],
  },
  "a loss that is answered from a read": {
    causes: /^no fault, but LockLostError/,
    in: ({ faults, quality }) => !faults && quality.old > 0,
    engine: [{
      file: "changes.ts",
      from: 'return { needs: "proof", answer: () => "lost" }',
      to: 'return { needs: "read", answer: () => "lost" }',
    }],
  },
  "a refusal of one's own write that is taken for another's": {
    causes: /^no fault, but LockLostError/,
    in: ({ faults, quality }) => !faults && quality.repeated > 0,
    engine: [{ file: "plan.ts", from: "writes.includes(id)", to: "writes === undefined" }],
  },
  "a release that finds nothing and does not write": {
    causes: /^a is held, although nobody has it/,
    directed: true,
    engine: [{
      file: "changes.ts",
      from: 'return { needs: "write", once: released, answer: () => released }',
      to: 'return { needs: released ? "write" : "read", once: released, answer: () => released }',
    }],
  },
  // A lease that is dated by a clock which was set forward since is over for everybody else.
  "a document that is remembered for days": {
    causes: TWO_HOLDERS,
    in: ({ rest, sets }) => rest !== undefined && sets === "server",
    seed: 798,
    engine: [{ file: "seen.ts", from: "REMEMBERED_MS = 60_000", to: "REMEMBERED_MS = 30 * 24 * 3_600_000" }],
  },
  "a sweep that removes what was just used": {
    causes: /^fence \d+ of \w follows |is removed, which was used/,
    in: ({ rest }) => rest !== undefined,
    engine: [{ file: "sweeper.ts", from: "return document.unused && ", to: "return document.unused || " }],
  },
  "an end that is cut by an old time": {
    causes: TWO_HOLDERS,
    in: ({ clock, timedWrites, crashes }) => clock && !timedWrites && crashes > 0,
    seed: 1301,
    engine: [
      { file: "tidy.ts", from: "holder.end > view.now + holder.lease", to: "holder.end > view.time + holder.lease" },
      { file: "tidy.ts", from: "holder.end = view.now + holder.lease", to: "holder.end = view.time + holder.lease" },
    ],
  },
  "a turn that is never over": {
    causes: NEVER_RETURNS,
    seed: 18,
    engine: [{ file: "period.ts", from: "TURN_MS = 1_500", to: "TURN_MS = Infinity" }],
  },
  "a missed turn that costs a process the place of one waiter alone": {
    causes: /^the next process waits for more than one turn$/,
    directed: true,
    engine: [{ file: "tidy.ts", from: "late && waiter.store === head?.store", to: "late && waiter === head" }],
  },
  "a missed turn that costs everybody their places": {
    causes: / is struck off by \w+, and lives| loses its place | overtakes /,
    seed: 254,
    engine: [{ file: "tidy.ts", from: "late && waiter.store === head?.store", to: "late" }],
  },
  "a waiter that comes back without its ticket": {
    causes: / loses its place /,
    in: FAULTY,
    engine: [{ file: "own_waiters.ts", from: "return this.get(claim)?.place;", to: "return undefined;" }],
  },
  "a place that a second miss costs": {
    causes: / loses its place /,
    in: FAULTY,
    seed: 25,
    engine: [{
      file: "own_waiters.ts",
      from: "return this.get(claim)?.place;",
      to:
        "const w: { place?: never; misses?: number } | undefined = this.get(claim); if (w?.place === undefined) return; " +
        "w.misses = (w.misses ?? 0) + 1; return w.misses > 1 ? undefined : w.place;",
    }],
  },
  "a wait that ends without a look at the written end": {
    causes: /^nobody is granted the lock, /,
    in: ({ shortWaits }) => shortWaits,
    engine: [{ file: "own_waiters.ts", from: "return this.leftOf(claim) <= LAST_MS;", to: "return false;" }],
  },
  "a timer that ends too early": { causes: TWO_HOLDERS, in: TIMED, server: { timersRun: 0.3 } },
  "a timer that does not last for the lease": {
    causes: TWO_HOLDERS,
    in: TIMED,
    engine: [{ file: "timers.ts", from: "return left >= ms && left <= ", to: "return left > 0 && left <= " }],
  },
  "a timer that is named before it has started": {
    causes: TWO_HOLDERS,
    in: TIMED,
    engine: [{
      file: "timers.ts",
      from: "const sentAt = this.#clock.now();\n    try {",
      to:
        'const sentAt = this.#clock.now();\n    this.#running = [...this.#running, { name: "none", sentAt, ms }];\n    try {',
    }],
  },
  "a timer that is over although it was not asked for": {
    causes: TWO_HOLDERS,
    in: TIMED,
    engine: [{ file: "timers.ts", from: "[name, false]", to: "[name, true]" }],
  },
  "a holder without a timer that nobody gives one": {
    causes: /^nobody is granted the lock, /,
    in: ({ timers, shortWaits }) => timers && shortWaits,
    engine: [{ file: "succession.ts", from: "patience < view.left(period) + WATCHED_MS", to: "false" }],
  },
  "a client's clock that is compared although the server has timers": {
    causes: TWO_HOLDERS,
    in: TIMED,
    engine: [
      { file: "lock.ts", from: "cannotWatch: cannotWatch && this.#succession === undefined,", to: "cannotWatch," },
      { file: "lock.ts", from: "backend.severalClocks ? maxClockSkew : 0", to: "backend.severalClocks ? 10_000 : 0" },
    ],
  },
  "a write that is never answered": {
    causes: / is not free although nothing fails any more$/,
    engine: [{ file: "lock.ts", from: "await within(ms, request, clock, sentAt)", to: "await request" }],
  },
  "the engine's own time instead of the server's": {
    causes: TWO_HOLDERS,
    in: CLOCKED,
    engine: [{ file: "seen.ts", from: "return this.time + age + drift(age);", to: "return now.wall;" }],
  },
  "a clock that was set forward while a read was on its way": {
    causes: TWO_HOLDERS,
    in: ({ clock, quality }) => !clock && quality.leaps > 0,
    engine: [{ file: "seen.ts", from: "Math.abs(monotonic - wall) > APART_MS", to: "monotonic - wall > APART_MS" }],
  },
  "leases of which the server checks the last one alone": {
    causes: TWO_HOLDERS,
    directed: true,
    engine: [{ file: "tidy.ts", from: "notBefore = Math.max(notBefore ?? 0, end)", to: "notBefore = end" }],
  },
  "a sweep by the clock of the process": {
    causes: /is removed, which was used/,
    in: ({ rest, clock }) => rest !== undefined && clock,
    engine: [{ file: "sweeper.ts", from: "found, found.time ?? now)", to: "found, now)" }],
  },
  "a sweep that never comes to the next page": {
    causes: /is never removed/,
    in: ({ rest }) => rest !== undefined,
    engine: [{ file: "sweeper.ts", from: "if (cursor === from) return", to: "if (cursor >= from) return" }],
  },
  "a look for a loss that fails once and for all": {
    causes: / is not told that \w was taken away/,
    in: ({ revokes, quality }) => revokes > 0 && quality.lost > 0,
    seed: 685,
    engine: [{
      file: "store.ts",
      from: "}, () => {}).finally(() => asking = false);",
      to: "asking = false; }, () => {});",
    }],
  },
  "a struck-off waiter that sleeps on": {
    causes: / was struck off and sleeps/,
    in: FAULTY,
    seed: 1968,
    engine: [{ file: "own_waiters.ts", from: "if (absent || next", to: "if (next" }],
  },
  "a turn that passes on without news": {
    causes: / has the turn and sleeps/,
    directed: true,
    engine: [{
      file: "plan.ts",
      from: "document.turn !== undefined && isOther;",
      to: "document.turn !== undefined && before.turn === undefined;",
    }],
  },
  "a waiter that is dead as soon as it is woken": {
    causes: / is struck off by \w+, and lives/,
    seed: 28,
    engine: [{
      file: "store.ts",
      from: "waiter.wake = undefined;\n        lock.waiters.notice(claim);",
      to: "waiter.wake = undefined;",
    }],
  },
  "a waiter that is dead while its attempt is not answered": {
    causes: / overtakes | loses its place /,
    in: FAULTY,
    seed: 179,
    engine: [{ file: "own_waiters.ts", from: "attempts > 0 ||", to: "" }],
  },
  "silent waiters that are struck off when their object is started anew": {
    causes: / is struck off before it could ask again/,
    in: ({ hosted }) => hosted,
    seed: 42,
    engine: [{ file: "tidy.ts", from: "left + waiters.graceMs <= 0", to: "left <= 0" }],
  },
  "a place that is lost with the reply to the first write": {
    causes: / loses its place /,
    in: FAULTY,
    seed: 35,
    engine: [{ file: "changes.ts", from: "if (queued !== undefined) local.keepPlace(queued);", to: "" }],
  },
  "a watch that is never ended": {
    causes: / watches \w twice at a time| still watches /,
    in: ({ watch }) => watch,
    engine: [{ file: "watcher.ts", from: 'pause.abort("over");', to: "" }],
  },
  "a permit more than there are": {
    causes: TWO_HOLDERS,
    in: ({ kinds }) => kinds,
    seed: 7,
    engine: [{
      file: "document.ts",
      from: "permits: isSemaphore ? kind : undefined",
      to: "permits: isSemaphore ? kind + 1 : undefined",
    }],
  },
  "a text of another program that is swept": {
    causes: / is removed, which is no document$/,
    in: ({ rest, strangers }) => rest !== undefined && strangers,
    seed: 37,
    engine: [{ file: "sweeper.ts", from: "} catch {\n    return false;", to: "} catch {\n    return true;" }],
  },
  "a version that repeats": { causes: TWO_HOLDERS, seed: 26, server: { repeatsVersions: true } },
  "an old time of the server": {
    causes: TWO_HOLDERS,
    in: CLOCKED,
    seed: 8,
    server: { otherTime: (time) => time - time % 5_000 },
  },
  "the time of another machine": {
    causes: TWO_HOLDERS,
    in: CLOCKED,
    seed: 8,
    server: { otherTime: (time) => time + (time % 2_000 < 1_000 ? 3_000 : -3_000) },
  },
  "two machines that decide like one": {
    causes: TWO_HOLDERS,
    in: ({ second }) => second !== undefined,
    server: { hidesMachines: true },
  },
};

/** Returns what simulates a fault. */
export async function flawed({ engine, server }: Flaw): Promise<SimulationOptions> {
  return { ...server && { serverFlaws: server }, ...engine && { engine: await planted(engine) } };
}

/** Returns an engine with a fault. */
async function planted(edits: readonly Edit[]): Promise<Engine> {
  let left = edits.length;
  const engine = await loadEngine((file, text) =>
    edits.filter((edit) => edit.file === file).reduce((changed, { from, to }) => {
      if (changed.split(from).length !== 2) throw new Error(`${file} has not one place like ${from}`);
      left--;
      return changed.replace(from, () => to);
    }, text)
  );
  if (left > 0) throw new Error(`there is no file ${edits.map(({ file }) => file)}`);
  return engine;
}
