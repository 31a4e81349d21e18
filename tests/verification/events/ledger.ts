import { type LockEvent, LockLostError, type Observer } from "@holdfast/lock";

/** What became of a call, as its caller has seen it. */
export type Outcome =
  /** It was granted the lock. `released` is how the release ended; `undefined` if there was none. */
  | { readonly fence: bigint; readonly released: "resolved" | { readonly error: unknown } | undefined }
  /** It resolved to `null`. */
  | { readonly busy: true }
  /** It rejected. */
  | { readonly error: unknown };

/** Notes the events of handles, and judges whether they are those of one call each. */
export class EventLedger {
  readonly #events = new Map<string, LockEvent[]>();
  readonly #outcomes = new Map<string, Outcome>();

  /** Notes an event. */
  readonly observer: Observer = (event) => {
    const { handle } = event;
    const events = this.#events.get(handle) ?? [];
    events.push(event);
    this.#events.set(handle, events);
  };

  /** How many events were noted. */
  get size(): number {
    return [...this.#events.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Returns how many handles have ended with an event of this type and reason. */
  count(type: LockEvent["type"], reason?: string): number {
    const all = [...this.#events.values()].flat();
    return all.filter((event) => event.type === type && (reason === undefined || reasonOf(event) === reason)).length;
  }

  /** Returns whether a handle has released or lost its lock. */
  isOver(handle: string): boolean {
    return this.#events.get(handle)?.some(({ type }) => type === "released" || type === "lost") ?? false;
  }

  /** Notes what became of the call with this handle, which has asked the store. */
  settled(handle: string, outcome: Outcome): void {
    this.#outcomes.set(handle, outcome);
  }

  /** Returns what is wrong with the events: nothing, if each call has those that it must have. */
  problems(): string[] {
    const rivals = [...this.#events].filter(([handle]) => !this.#outcomes.has(handle))
      .map(([handle, events]) => `${typesOf(events)}: of a handle that nobody has asked for: ${handle}`);
    const wrong = [...this.#outcomes].flatMap(([handle, outcome]) => {
      const events = this.#events.get(handle) ?? [];
      return judge(events, outcome).map((problem) => `${typesOf(events)}: ${problem}`);
    });
    return [...rivals, ...wrong];
  }
}

function typesOf(events: readonly LockEvent[]): string {
  return events.map((event) => [event.type, reasonOf(event)].filter((word) => word !== undefined).join(" ")).join(", ");
}

function reasonOf(event: LockEvent): string | undefined {
  return "reason" in event ? event.reason : undefined;
}

/** Returns what is wrong with the events of one call that has ended so. */
function judge(events: readonly LockEvent[], outcome: Outcome): string[] {
  const problems: string[] = [];
  const check = (right: boolean, problem: string) => {
    if (!right) problems.push(problem);
  };
  const of = (...types: LockEvent["type"][]) => events.filter(({ type }) => types.includes(type));
  const place = (...types: LockEvent["type"][]) => events.findIndex(({ type }) => types.includes(type));
  const ends = of("acquired", "gave_up");
  check(ends.length === 1, "a call ends in one acquired or gave_up");
  const end = place("acquired", "gave_up");
  check(of("waiting").length <= 1 && (end < 0 || place("waiting") < end), "it waits once, before its end");
  check(of("released", "lost").length <= 1, "a lock is released or lost, once");
  const over = place("released", "lost");
  check(over < 0 || place("acquired") >= 0 && place("acquired") < over, "a lock is acquired before that");
  check(over < 0 || events.slice(over).every(({ type }) => type !== "renewed"), "it is not renewed after that");
  check(events.every((event) => who(event) === who(events[0]!)), "all are about one handle");
  check(events.every((event) => durationOf(event) >= 0), "no time is negative");
  if (ends[0] !== undefined) problems.push(...judgeEnd(events, ends[0], outcome));
  return problems;
}

function judgeEnd(events: readonly LockEvent[], end: LockEvent, outcome: Outcome): string[] {
  if (end.type === "gave_up") {
    if ("fence" in outcome) return ["its caller has the lock"];
    if ("busy" in outcome) return end.reason === "busy" && end.error === undefined ? [] : ["its caller was told: busy"];
    return end.error === outcome.error && end.reason !== "busy" ? [] : ["its caller got another error"];
  }
  if (!("fence" in outcome)) return ["its caller does not have the lock"];
  const over = events.findLast(({ type }) => type === "released" || type === "lost");
  const fences = [end, over].flatMap((event) => event !== undefined && "fence" in event ? [event.fence] : []);
  if (fences.some((fence) => fence !== outcome.fence)) return ["its caller has another fence"];
  const { released } = outcome;
  if (released === "resolved") return over?.type === "released" ? [] : ["its caller has released the lock"];
  const loss = released?.error;
  if (released !== undefined && !(loss instanceof LockLostError)) return []; // The store has not answered, or does later.
  if (over?.type !== "lost") return ["its caller has lost the lock"];
  return loss === undefined || over.error === loss ? [] : ["its caller got another loss"];
}

function who({ name, owner, handle, mode, permits }: LockEvent): string {
  return JSON.stringify([name, owner, handle, mode, permits]);
}

function durationOf(event: LockEvent): number {
  if ("waited" in event) return event.waited;
  return "held" in event ? event.held : 0;
}
