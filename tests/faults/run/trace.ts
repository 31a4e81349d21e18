import type { Asked } from "./asked.ts";
import type { Leftover } from "./inspector.ts";

/** What one acquire has asked for. */
export class Trace {
  /** The ids of its handles. */
  readonly handles = new Set<string>();
  /** What was asked of the store under these ids, the last one at the end. */
  readonly #asked = new Set<Asked>();
  #lease: Asked | undefined;
  #term: Asked["term"] | undefined;
  #overdue = 0;

  /** What it holds the lock under; none before it was granted. */
  get lease(): Asked | undefined {
    return this.#lease;
  }

  /** When its lease ends, at the latest; the beginning of time before it was granted. */
  get deadline(): number {
    return this.#term?.deadline ?? -Infinity;
  }

  /** How long after the end of its lease the answer came that it was granted with, in milliseconds; 0 if in time. */
  get overdue(): number {
    return this.#overdue;
  }

  /** Notes that the store is asked for it. */
  asks(asked: Asked): void {
    this.#asked.delete(asked);
    this.#asked.add(asked);
  }

  /** Notes that it holds the lock. */
  begin(lease: Asked): void {
    this.#lease = lease;
    this.#term = lease.term;
    this.#overdue = Math.max(0, lease.term.begun - lease.term.deadline);
    lease.users.add(this);
  }

  /** Notes that it does not hold the lock any more. */
  end(): void {
    this.#lease?.users.delete(this);
  }

  /**
   * Returns what must not be left of it when it is over. The lease of the process may go on for other handles: it must
   * be used by one of them then, until it is released.
   */
  leftovers(end: string): Leftover[] {
    const all = new Set(this.#asked);
    const shared = this.#lease !== undefined && !all.has(this.#lease) ? this.#lease : undefined;
    const carriers = [...all, ...(shared === undefined ? [] : [shared])].filter(({ carries }) => carries);
    const own = [...all].filter(({ carries }) => !carries);
    const found = carriers.map((asked) => ({
      end: "handed on",
      unanswered: asked.unanswered,
      last: asked.ids,
      ids: asked.ids,
      used: () => asked.users.size > 0,
    }));
    const held = new Set(carriers.flatMap(({ ids }) => [...ids]));
    const handles = [...this.handles].filter((handle) => !held.has(handle));
    const ids = new Set([...handles, ...own.flatMap(({ ids }) => [...ids])]);
    // A place in the queue that it had besides may go a moment later.
    const ended = shared !== undefined && end === "released" ? "handed on" : end;
    const last = this.#lease === undefined || own.includes(this.#lease) ? own.at(-1)?.last ?? ids : ids;
    // An attempt that is granted when its caller has given up is handed on as well: whoever uses it last is looked at.
    const used = () => own.some(({ users }) => users.size > 0);
    const unanswered = own.some(({ unanswered }) => unanswered);
    const left: Leftover[] = ids.size === 0 ? found : [...found, { end: ended, unanswered, last, ids, used }];
    if (shared === undefined || shared.carries || shared.inspected) return left;
    shared.inspected = true;
    return [...left, { end, unanswered: shared.unanswered, last: shared.last, ids: shared.ids }];
  }
}
