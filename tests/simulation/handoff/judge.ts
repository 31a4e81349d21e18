import { LockConflictError, LockLostError, LockTimeoutError, StoreError } from "../../../src/contract/errors.ts";
import { excluded, fenceOrder, mayShare } from "../../verification/exclusion.ts";
import type { Handle } from "./handle.ts";
import type { Process } from "./process.ts";
import type { Deed, Scenario } from "./scenario.ts";
import type { Server, Tenure } from "./server.ts";
import type { Turns } from "./turns.ts";

/** The reason with which tasks abort what they wait for. */
export const ABORTED: unique symbol = Symbol("aborted");

/** After so many microtasks a caller has been told what was decided before. */
const TOLD = 30;

/** For so long after a disturbance the order is not judged, in milliseconds. */
const AFTERMATH_MS = 12_000;

/** A lease that is long enough for whatever a store that works takes: so long, and so many trips more. */
const SAFE_LEASE_MS = 200;
const SAFE_LEASE_TRIPS = 8;

/** For how long nobody may have a lock that somebody waits for, in milliseconds. */
const IDLE_MS = { calm: 100, unordered: 500, short: 1_500, rough: 12_000 } as const;

/** For how long that may be while the process has the lock: so long, and so many trips more. */
const UNUSED_MS = { usual: 10, ends: 40 } as const;
const UNUSED_TRIPS = 8;

/** How long it may take to give back what nobody wants, in milliseconds. */
const UNDONE_MS = 500;

/** How long a notice of a revocation may take: so long, and so many trips more. */
const NOTICE_MS = 10;
const NOTICE_TRIPS = 4;

/** Within how many milliseconds a handle that may sleep is named: twice as often as stores forget a waiter. */
const NAMED_MS = 7_500;

/** How long after a close waiters may go on. */
const CLOSED_MS = 600;

/** What the judge sees of the world. */
export interface Court {
  readonly scenario: Scenario;
  readonly turns: Turns;
  readonly server: Server;
  readonly processes: readonly Process[];
  readonly handles: readonly Handle[];
  /** When the lock of a name was revoked last. */
  revokedAt(name: string): number;
}

/** Judges what callers see. */
export class Judge {
  readonly violations: string[] = [];
  readonly #court: Court;
  /** The last fence that was granted of each tenure. */
  readonly #fences = new Map<Tenure, bigint>();
  /** When the first handle was told that it has the lock by a tenure. */
  readonly #firstGrants = new Map<Tenure, number>();
  /** Since when a process has had a lock, and nobody in it, although somebody waits in it. */
  readonly #unusedSince = new Map<Tenure, number>();
  /** Since when nobody has had the lock of a name although somebody waits. */
  readonly #idleSince = new Map<string, number>();

  constructor(court: Court) {
    this.#court = court;
  }

  /** Notes what is wrong. */
  violated(rule: string, what: string): void {
    this.violations.push(`${rule}: ${what}`);
  }

  /** Judges a grant when its caller is told. */
  granted(handle: Handle, fence: bigint): void {
    this.#idleSince.delete(handle.name);
    this.#judgeFence(handle, fence);
    if (handle.tenure !== undefined) {
      if (!this.#firstGrants.has(handle.tenure)) this.#firstGrants.set(handle.tenure, this.#court.turns.now);
      this.#judgeNotice(handle);
    }
    this.#judgeHolders(handle);
    this.#judgeOrder(handle);
  }

  /** Judges what the server grants a process, and past whom who came before its last grant. */
  tenure({ process, claim }: Tenure, passedOver: readonly string[]): void {
    const { scenario: { theme, handoff, weights, sections, line }, handles, server } = this.#court;
    if (passedOver.length === 0 || theme !== "calm" || typeof handoff === "string") return;
    // A process is granted the lock again if another handle of it had to ask for itself.
    const others: readonly Deed[] = ["shared", "permits", "owner", "abort", "all"];
    if (others.some((deed) => weights.get(deed)) || Math.max(...sections) * 2 >= handoff.keep) return;
    if (
      handles.some(({ store, process, wait, lease }) =>
        store !== process.stores.store || wait < 1e9 && wait > 0 || !this.isSafe(lease)
      )
    ) return;
    if (!line.ordered || server.arrival(passedOver[0]!) === undefined) return;
    this.violated(
      "granted twice",
      `process ${process} is granted ${claim.name} again, past who was next when it gave it back`,
    );
  }

  /** Judges that a handle which does not wait was told that the lock is busy. */
  refused(handle: Handle): void {
    const { scenario: { theme }, handles, server, turns } = this.#court;
    // Who asks the store itself may find that its process keeps the lock.
    if (theme !== "calm" || handle.joint || handle.store !== handle.process.stores.store) return;
    const { begunAt, process, name } = handle;
    const isUsed = handles.some((other) => {
      return other !== handle && other.name === name && other.begunAt <= turns.now && other.settledAt >= begunAt;
    });
    const isElsewhere = server.tenures(name).some((tenure) => {
      return tenure.process !== process.number && server.wasHeldSince(tenure, begunAt);
    });
    if (!isUsed && !isElsewhere) {
      this.violated("busy for nobody", `${handle.label} finds the lock busy, and nobody uses it`);
    }
  }

  /** Judges that a holder which was evicted by its name has lost the lock in the server. */
  evicted({ label, phase, tenure }: Handle): void {
    if (phase !== "held" || tenure === undefined || tenure.releasing || !this.#court.server.isHeld(tenure)) return;
    this.violated("not evicted", `${label} was evicted, and the server has its lock`);
  }

  /** Judges how a call that waits for a lock has failed. */
  failed(handle: Handle, error: unknown): void {
    if (error === ABORTED) return;
    const { scenario } = this.#court;
    if (error instanceof LockTimeoutError && handle.wait !== Infinity) return;
    // Its time may be over before the store has answered.
    if (error instanceof StoreError && handle.wait > 0 && handle.wait !== Infinity) return;
    if (
      error instanceof LockConflictError && ["permits", "owner"].some((deed) => scenario.weights.get(deed as "owner"))
    ) return;
    const isShort = !this.isSafe(handle.lease);
    if (error instanceof StoreError && (isShort || handle.joint || this.#isDisturbed(handle))) return;
    this.violated("rejected without a cause", `${handle.label} is rejected: ${error}`);
  }

  /** Judges how a release has failed, of one handle or several together. */
  releaseFailed(handles: readonly Handle[], error: unknown): void {
    const { server, turns } = this.#court;
    for (const handle of handles) {
      const { tenure, lease, shortest, forgotten } = handle;
      if (
        !this.isSafe(Math.min(lease, shortest)) || forgotten || this.#isDisturbed(handle) || tenure?.end === "revoked"
      ) return;
      if (error instanceof LockLostError && tenure !== undefined && turns.now - tenure.since > tenure.lease) return;
    }
    const known = handles.map(({ tenure }) => tenure !== undefined && server.isHeld(tenure) ? "has" : "has not");
    this.violated("lost without a cause", `${handles[0]!.label} is lost: ${error}; the server ${known} it`);
  }

  /** Judges what holds at the end of every turn. */
  turn(): void {
    for (const name of this.#court.scenario.names) {
      this.#judgeName(name);
      this.#judgeUse(name);
      this.#judgeNeed(name);
    }
    this.#judgeClosed();
    this.#judgePlaces();
  }

  #judgeFence(handle: Handle, fence: bigint): void {
    const { server, turns, scenario } = this.#court;
    const { label, name, owner, process } = handle;
    const reserved = server.withFence(name, fence);
    const own = reserved.filter((each) => handle.ids.includes(each.handle));
    // The last one: a handle is granted the lock anew when its lease has ended before the reply came.
    const tenure = own.at(-1) ?? reserved.findLast((each) => server.isHeld(each)) ?? reserved.at(-1);
    if (tenure === undefined) {
      return this.violated("fence never reserved", `${label} has fence ${fence}, which the server never reserved`);
    }
    handle.tenure = tenure;
    if (owner === undefined) {
      if (tenure.process !== process.number) {
        this.violated("fence of another process", `${label} has fence ${fence} of process ${tenure.process}`);
      }
      const last = this.#fences.get(tenure);
      if (last !== undefined && fenceOrder({ fence: last }, { fence }) !== "rises") {
        this.violated("fence fell or repeated", `${label} has fence ${fence} after ${last}`);
      }
      this.#fences.set(tenure, fence);
    }
    if (tenure.end === "released") {
      this.violated(
        "granted after it was given back",
        `${label} has fence ${fence}, and the server was given that back`,
      );
    } else if (tenure.end === undefined && !server.isHeld(tenure)) {
      this.violated("granted after the lease", `${label} has fence ${fence}, and its lease in the server has ended`);
    }
    const revoked = tenure.ownRevocation;
    // Of several names, one may have been granted long ago; and replies may cross.
    const isLate = handle.joint || !scenario.line.ordered && own.length > 0;
    if (revoked !== undefined && !isLate && tenure.process === process.number) {
      if (turns.turn > revoked.turn || turns.hop > revoked.hop + TOLD) {
        this.violated(
          "handed on after an own revocation",
          `${label} has fence ${fence}, which its own process has revoked`,
        );
      }
    }
  }

  /** Judges how long a process hands on what somebody else has revoked: until it is notified. */
  #judgeNotice({ label, ids, tenure, joint }: Handle): void {
    const { scenario: { theme, reads, line }, turns } = this.#court;
    if (tenure?.end !== "revoked" || theme !== "revocations" || reads < 1 || joint || ids.includes(tenure.handle)) {
      return;
    }
    const since = Math.max(tenure.endedAt, this.#firstGrants.get(tenure) ?? turns.now);
    if (turns.now - since <= NOTICE_MS + NOTICE_TRIPS * line.trip[1]) return;
    this.violated(
      "handed on after a notice",
      `${label} is handed the lock ${turns.now - since} ms after it was revoked`,
    );
  }

  #judgeHolders(handle: Handle): void {
    const others = this.#court.handles.filter((other) => {
      if (other === handle || other.name !== handle.name || !other.believes) return false;
      // A tenure is for one at a time, also when it was revoked.
      return handle.tenure === other.tenure || [handle, other].every(({ tenure }) => tenure?.end !== "revoked");
    });
    for (const other of excluded(handle, others)) {
      const where = handle.process === other.process ? "in one process" : "in two processes";
      this.violated(`two holders ${where}`, `${handle.label} is granted the lock while ${other.label} holds it`);
    }
  }

  #judgeOrder(handle: Handle): void {
    if (handle.steals || handle.owner !== undefined) return;
    for (const waiter of this.#court.handles) {
      if (waiter.phase !== "waiting" || waiter.name !== handle.name || waiter === handle) continue;
      if (waiter.aborted || waiter.wait === 0 || waiter.joint || mayShare(waiter, handle)) continue;
      // It may be about to be told that its time is over.
      if (this.#court.turns.now >= waiter.begunAt + waiter.wait || !this.isSafe(waiter.lease)) continue;
      if (this.#isOvertaken(waiter, handle)) {
        this.violated("overtaken", `${handle.label} is granted the lock while ${waiter.label} waits, which came first`);
      }
    }
  }

  /** Returns whether a handle that cannot share a grant came behind the waiter, and no later than the other one. */
  #isBarrierBetween(waiter: Handle, by: Handle): boolean {
    for (const handle of this.#court.handles) {
      const { process, name, place, kind, owner, lease } = handle;
      if (handle === waiter || process !== by.process || name !== by.name || place < waiter.place || place > by.place) {
        continue;
      }
      if (kind !== "exclusive" || owner !== undefined || !this.isSafe(lease)) return true;
    }
    return false;
  }

  #isOvertaken(waiter: Handle, by: Handle): boolean {
    const { scenario, server } = this.#court;
    if (waiter.answer !== "busy" || this.#isRevoked(waiter)) return false;
    // A run whose lease has ended: others may be served until its members have attempted again.
    if (waiter.ids.some((id) => by.tenure?.away.has(id))) return false;
    if (waiter.store === by.store) {
      // With `keep` one that cannot be handed the lock asks at once, and so does the first one behind it.
      if (typeof scenario.handoff !== "string" && this.#isBarrierBetween(waiter, by)) return false;
      return waiter.place < by.place && scenario.line.ordered && !this.#isFaulted(waiter) && !this.#isFaulted(by);
    }
    if (typeof scenario.handoff !== "string" || waiter.process === by.process) return false;
    // Without a cohort the queue of the server decides, also between processes.
    if (scenario.theme !== "lost replies" && (this.#isFaulted(waiter) || this.#isFaulted(by))) return false;
    if (waiter.faulted) return false;
    const [first, second] = [waiter, by].map(({ ids }) => server.arrival(ids[0] ?? ""));
    return first !== undefined && second !== undefined && first < second;
  }

  #judgeName(name: string): void {
    const { scenario, turns, handles, server } = this.#court;
    const here = handles.filter((handle) => handle.name === name && handle.phase !== "over");
    const holders = here.filter((handle) => handle.process.stalledUntil <= turns.now && handle.believes);
    for (const { label, tenure } of holders) {
      if (tenure === undefined || server.isHeld(tenure) || tenure.end === "revoked") continue;
      this.violated("believes in a lock that is gone", `${label} holds the lock, which the server does not have`);
    }
    const ready = here.filter((handle) => {
      const { process } = handle;
      return handle.isReady && process.stalledUntil <= turns.now && process.closedAt === undefined &&
        this.isSafe(handle.lease);
    });
    const isUsed = here.some((handle) =>
      handle.phase === "held" && (handle.process.stalledUntil > turns.now || handle.believes)
    );
    // Whoever wants several names may have this one, and wait for another.
    const isTaken = scenario.names.length > 1 && here.some(({ joint }) => joint);
    if (isUsed || isTaken || ready.length === 0) {
      this.#idleSince.delete(name);
      return;
    }
    const since = this.#idleSince.get(name) ?? turns.now;
    this.#idleSince.set(name, since);
    const { handoff, theme, leases, line: { trip, ordered } } = scenario;
    const linger = typeof handoff === "string" ? 0 : handoff.linger;
    const isRough = theme !== "calm" || here.some((handle) => handle.joint || this.#isDisturbed(handle));
    const isShort = leases.some((lease) => !this.isSafe(lease));
    const limit = IDLE_MS[isRough ? "rough" : isShort ? "short" : ordered ? "calm" : "unordered"];
    if (turns.now - since > limit + linger + 6 * trip[1]) {
      const whose = ready.map(({ label }) => label).join(", ");
      this.violated(
        "idle while somebody waits",
        `nobody has had the lock "${name}" for ${turns.now - since} ms, and ${whose} wait`,
      );
      this.#idleSince.delete(name);
    }
  }

  /** Judges that a process which has a lock uses it, if somebody in it waits and can be handed it. */
  #judgeUse(name: string): void {
    const { scenario: { handoff, line, theme, door }, turns, handles, server, processes } = this.#court;
    const linger = typeof handoff === "string" ? 0 : handoff.linger;
    // An attempt that is executed late may make the lease longer of a lock that its handle does not want any more.
    // Where renewals are answered late or never, so is the one that is sent for the next handle.
    const isLate = line.faults.late + line.faults.never > 0 && line.faulty.includes("renew");
    // A caller that is not told of its lock pauses with it.
    if (!line.ordered || theme === "slow" || theme === "faults" || isLate || door > 0) return;
    for (const tenure of server.tenures(name)) {
      const { number, stalledUntil, closedAt } = processes[tenure.process]!;
      const here = handles.filter(({ process, phase, name }) =>
        process.number === number && phase !== "over" && name === tenure.name
      );
      const isUsed = !tenure.told || tenure.releasing || !server.isHeld(tenure) || stalledUntil > turns.now ||
        closedAt !== undefined || here.some((handle) => handle.joint || handle.phase === "held" || handle.asking > 0) ||
        !here.some((handle) =>
          handle.isReady && this.isSafe(handle.lease) && handle.store === handle.process.stores.store
        );
      if (isUsed) {
        this.#unusedSince.delete(tenure);
        continue;
      }
      const since = this.#unusedSince.get(tenure) ?? turns.now;
      this.#unusedSince.set(tenure, since);
      if (turns.now - since <= UNUSED_MS[theme === "ends" ? theme : "usual"] + linger + UNUSED_TRIPS * line.trip[1]) {
        continue;
      }
      this.violated(
        "unused by its process",
        `process ${number} has had "${name}" for ${turns.now - since} ms, and nobody in it`,
      );
    }
  }

  /** Judges that a process which has a lock has a handle that had it or wanted it not long ago. */
  #judgeNeed(name: string): void {
    const { scenario: { handoff, line, theme }, turns, handles, server } = this.#court;
    if (theme !== "calm" && theme !== "lost replies") return;
    const linger = typeof handoff === "string" ? 0 : handoff.linger;
    const since = turns.now - (UNDONE_MS + linger + UNUSED_TRIPS * line.trip[1]);
    for (const tenure of server.tenures(name)) {
      if (!server.isHeld(tenure) || tenure.grantedAt > since) continue;
      const isNeeded = handles.some((handle) => {
        if (handle.process.number !== tenure.process || handle.name !== name) return false;
        return handle.phase !== "over" || handle.settledAt > since;
      });
      if (isNeeded) continue;
      this.violated(
        "kept for nobody",
        `process ${tenure.process} has "${name}", which nobody in it has wanted since ${since}`,
      );
    }
  }

  #judgeClosed(): void {
    const { turns, processes, handles } = this.#court;
    for (const process of processes) {
      if (process.closedAt === undefined || turns.now < Math.max(process.closedAt, process.stalledUntil) + CLOSED_MS) {
        continue;
      }
      for (const { label, process: own, phase, begunAt } of handles) {
        if (own !== process || phase !== "waiting" || begunAt + CLOSED_MS >= turns.now) continue;
        this.violated(
          "asleep after a close",
          `${label} still waits ${turns.now - process.closedAt} ms after the close`,
        );
      }
    }
  }

  /** Judges that a process names its sleeping handles: a store drops the places of others. */
  #judgePlaces(): void {
    const { turns, processes, handles } = this.#court;
    for (const { number, connection, stalledUntil, disturbedAt, closedAt } of processes) {
      if (closedAt !== undefined || Math.max(stalledUntil, disturbedAt) + AFTERMATH_MS > turns.now) continue;
      for (const id of connection.silent(NAMED_MS)) {
        // Nobody needs the place of a handle whose caller has given up, or that an attempt has made after its release.
        if (!handles.some(({ phase, ids }) => phase === "waiting" && ids.at(-1) === id)) continue;
        this.violated("place lost", `process ${number} has not named ${id} for ${NAMED_MS} ms, which waits`);
      }
    }
  }

  /** Returns whether a lease is long enough for a store that works. */
  isSafe(lease: number): boolean {
    return lease >= SAFE_LEASE_MS + SAFE_LEASE_TRIPS * this.#court.scenario.line.trip[1];
  }

  /** Returns whether something may have gone wrong for a handle, or near it: then others may come before it. */
  #isFaulted(handle: Handle): boolean {
    const { process, begunAt } = handle;
    // To the server, those who waited in a process that stalled may have died.
    return this.#isDisturbed(handle) || Math.max(process.faultedAt, process.stalledUntil) > begunAt - AFTERMATH_MS;
  }

  #isDisturbed({ process, begunAt }: Handle): boolean {
    return process.disturbedAt > begunAt - AFTERMATH_MS;
  }

  #isRevoked({ name, begunAt }: Handle): boolean {
    return this.#court.revokedAt(name) > begunAt - AFTERMATH_MS;
  }
}
