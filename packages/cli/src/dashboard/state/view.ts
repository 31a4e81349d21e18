import { type Clock, elapsed } from "../../internal/time/clock.ts";
import { reason } from "../../internal/reason.ts";

/** What a view has: what was read last, or why that was not possible. */
export type Update<Model> = { readonly model: Model } | { readonly fault: string };

/** Called with each result of a read. */
export type Viewer<Model> = (update: Update<Model>) => void;

/** The pause after a poll is at least so many times as long as the poll: it takes a fifth of the time at most. */
const PAUSE_RATIO = 4;

/** Returns a viewer that is called only if the update differs, as JSON, from the one before. */
export function ifChanged<Model>(viewer: Viewer<Model>): Viewer<Model> {
  let last: string | undefined;
  return (update) => {
    const text = JSON.stringify(update);
    if (text !== last) viewer(update);
    last = text;
  };
}

/** One poll of the store for all who look at the same thing. It goes on while somebody looks. */
export class View<Model> {
  readonly #read: (signal: AbortSignal) => Promise<Model>;
  readonly #refresh: number;
  readonly #clock: Clock;
  readonly #viewers = new Set<Viewer<Model>>();
  readonly #end = new AbortController();
  #last: Update<Model> | undefined;

  /**
   * Reads with a function, `refresh` milliseconds after the answer before. Begins with the first viewer; the signal
   * aborts when the last one has gone.
   */
  constructor(read: (signal: AbortSignal) => Promise<Model>, refresh: number, clock: Clock) {
    this.#read = read;
    this.#refresh = refresh;
    this.#clock = clock;
  }

  /** How many look at it. */
  get viewers(): number {
    return this.#viewers.size;
  }

  /** Adds a viewer, and shows it what was read already. */
  add(viewer: Viewer<Model>): void {
    this.#viewers.add(viewer);
    if (this.#last !== undefined) viewer(this.#last);
    if (this.#viewers.size === 1) void this.#poll(this.#end.signal);
  }

  /** Removes a viewer. After the last one the view has ended for good. */
  remove(viewer: Viewer<Model>): void {
    this.#viewers.delete(viewer);
    if (this.#viewers.size === 0) this.#end.abort();
  }

  async #poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const began = this.#clock.now();
      const update = await this.#look(signal);
      if (signal.aborted) return;
      this.#show(update);
      const took = elapsed(began, this.#clock.now());
      await this.#clock.sleep(Math.max(this.#refresh, took * PAUSE_RATIO), signal);
    }
  }

  async #look(signal: AbortSignal): Promise<Update<Model>> {
    try {
      return { model: await this.#read(signal) };
    } catch (error) {
      return { fault: reason(error) };
    }
  }

  #show(update: Update<Model>): void {
    this.#last = update;
    for (const viewer of [...this.#viewers]) viewer(update);
  }
}

/** The views that somebody looks at, by what they show. */
export class Views<Model> {
  readonly #views = new Map<string, View<Model>>();

  /** How many views there are. */
  get size(): number {
    return this.#views.size;
  }

  /**
   * Shows a view to a viewer.
   *
   * @param key what the view shows
   * @param make makes it, if nobody looks at it yet
   * @returns what ends that
   */
  watch(key: string, make: () => View<Model>, viewer: Viewer<Model>): () => void {
    const view = this.#views.get(key) ?? make();
    this.#views.set(key, view);
    view.add(viewer);
    return () => {
      view.remove(viewer);
      // Another one may have come in its place.
      if (view.viewers === 0 && this.#views.get(key) === view) this.#views.delete(key);
    };
  }
}
