import type { Look, View } from "./view.ts";
import type { Remains } from "./work.ts";

/**
 * How long an acquire that is over may leave anything, in milliseconds: a queue drops dead waiters, when all that are
 * ahead of them have been served.
 */
const LEFTOVER_LIMIT_MS = 16_000;

/**
 * For how much of the time in which nothing answers it may be left besides, in milliseconds: nobody can drop it then.
 * On a loaded machine ZooKeeper takes half a minute to elect a leader.
 */
const UNANSWERED_LIMIT_MS = 60_000;

/** The pause between two looks, in milliseconds. */
const PAUSE = 100;

/** How long a look may take, in milliseconds: a Cluster's client that finds no node holds commands back for good. */
const LOOK_LIMIT_MS = 5_000;

/** How many waits for something to be gone there may be at a time: more than usual, unless nothing ever goes. */
const AT_ONCE = 20;

/** What must not be left when an acquire is over. */
export interface Leftover {
  /** How it was over: it was released, or handed on to another handle, or the outcome of the refusal. */
  readonly end: string;
  /** When it began; when it was over, if left out. */
  readonly from?: number;
  /** Whether one of its attempts has failed, so that it may be executed late. */
  readonly unanswered?: boolean;
  /** The ids of its last attempt. */
  readonly last: ReadonlySet<string>;
  /** All of its ids. */
  readonly ids: ReadonlySet<string>;
  /** Whether another handle holds the lock under these ids: then there is nothing to find. */
  readonly used?: () => boolean;
}

/** Looks at what is kept of an acquire that is over, beside all ways on which something can happen. */
export class Inspector {
  readonly #views: readonly View[];
  readonly #now: () => number;
  readonly #report: (remains: Remains) => void;
  readonly #mayBeBehind: boolean;
  #waiting = 0;

  /**
   * Looks at one view for each independent server, or deployment of servers. What is seen may be a moment old where
   * `mayBeBehind` is set: then it is looked at twice.
   */
  constructor(views: readonly View[], now: () => number, report: (remains: Remains) => void, mayBeBehind = false) {
    this.#views = views;
    this.#now = now;
    this.#report = report;
    this.#mayBeBehind = mayBeBehind;
  }

  /** Returns what each of the servers has of some ids; `undefined` when it does not answer. */
  look(lock: string, ids: ReadonlySet<string>): Promise<(Look | undefined)[]> {
    return Promise.all(this.#views.map((view) => unlessLate(view.look(lock, ids))));
  }

  /**
   * Reports what is left of an acquire that is over: at once of its last attempt, if it was `released`, and how long it
   * takes until nothing is left of it anywhere. Resolves after the first look.
   */
  async over(lock: string, { end, from, unanswered = false, last, ids, used = () => false }: Leftover): Promise<void> {
    const since = this.#now();
    if (used()) return;
    const isReleased = end === "released";
    const seen = isReleased ? last : ids;
    let looks = await this.look(lock, seen);
    if (isReleased && this.#mayBeBehind && this.#behind(looks)) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      looks = await this.look(lock, seen);
    }
    const at = this.#now();
    const atOnce = isReleased ? this.#behind(looks) : undefined;
    const held = looks.some((look) => look?.held);
    const remains = { lock, end, unanswered, from: from ?? since, since, atOnce, at, held };
    const whole = isReleased && last.size < ids.size;
    if (!whole && looks.every((look) => look?.present === false)) {
      return this.#report({ ...remains, until: since, gone: true });
    }
    if (this.#waiting >= AT_ONCE) return this.#report({ ...remains, until: since, gone: true });
    void this.#watch(remains, ids, used);
  }

  /** Returns whether more servers have something than a majority leaves; `undefined` when too few have answered. */
  #behind(looks: readonly (Look | undefined)[]): boolean | undefined {
    const allowed = Math.ceil(looks.length / 2) - 1;
    if (looks.filter((look) => look?.present).length > allowed) return true;
    return looks.filter((look) => look?.present === false).length >= looks.length - allowed ? false : undefined;
  }

  /** Looks again and again, until nothing is left or it is used again, or for too long. */
  async #watch(
    remains: Omit<Remains, "until" | "gone">,
    ids: ReadonlySet<string>,
    used: () => boolean,
  ): Promise<void> {
    this.#waiting++;
    let { since: until, held } = remains;
    let end = remains.since + LEFTOVER_LIMIT_MS;
    let unanswered = 0;
    for (let last = remains.since;;) {
      const asked = this.#now();
      const looks = await this.look(remains.lock, ids);
      if (looks.every((look) => look === undefined)) unanswered += asked - last;
      last = asked;
      if (used()) {
        this.#waiting--;
        return;
      }
      // Only what was seen counts: a server that does not answer proves nothing.
      const seen = looks.some((look) => look?.present);
      if (seen) until = asked;
      held ||= looks.some((look) => look?.held);
      if (looks.some((look) => look?.behind)) end = asked + LEFTOVER_LIMIT_MS;
      if (looks.every((look) => look?.present === false) || asked > end + Math.min(unanswered, UNANSWERED_LIMIT_MS)) {
        this.#waiting--;
        return this.#report({ ...remains, held, until, gone: !seen });
      }
      await new Promise((resolve) => {
        // Does not keep the process alive.
        const timer = setTimeout(resolve, PAUSE) as unknown as { unref(): void };
        timer.unref();
      });
    }
  }
}

/** Resolves to what was seen; to `undefined` when it cannot be known, or not in time. */
function unlessLate(look: Promise<Look>): Promise<Look | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), LOOK_LIMIT_MS);
    look.catch(() => undefined).then(resolve).finally(() => clearTimeout(timer));
  });
}
