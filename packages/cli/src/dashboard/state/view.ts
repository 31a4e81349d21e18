import { reason } from "@holdfast/lock/authors";
import { type Clock, monotonicMs } from "../../time/clock.ts";

/** The state of a view: the last reading, or why it failed. */
export type Update<Model> = { readonly model: Model } | { readonly fault: string };

/** Called with each result of a read. */
export type Viewer<Model> = (update: Update<Model>) => void;

/** The pause after a poll, as a multiple of the poll's time: polls take a fifth of the time at most. */
const PAUSE_RATIO = 4;

/** Returns a viewer that is called only if the update differs, as JSON, from the last. */
export function ifChanged<Model>(viewer: Viewer<Model>): Viewer<Model> {
  let last: string | undefined;
  return (update) => {
    const text = JSON.stringify(update);
    if (text !== last) viewer(update);
    last = text;
  };
}

/** One poll of the store for all viewers of the same thing. It goes on while there are viewers. */
export class View<Model> {
  readonly #read: (signal: AbortSignal) => Promise<Model>;
  readonly #refresh: number;
  readonly #clock: Clock;
  readonly #viewers = new Set<Viewer<Model>>();
  readonly #end = new AbortController();
  #last: Update<Model> | undefined;

  /**
   * Creates a view that calls `read` again `refresh` milliseconds after its last answer. Begins with the first viewer;
   * the signal aborts when the last viewer has gone.
   */
  constructor(read: (signal: AbortSignal) => Promise<Model>, refresh: number, clock: Clock) {
    this.#read = read;
    this.#refresh = refresh;
    this.#clock = clock;
  }

  /** How many viewers it has. */
  get viewers(): number {
    return this.#viewers.size;
  }

  /** Adds a viewer, and calls it with the last reading. */
  add(viewer: Viewer<Model>): void {
    this.#viewers.add(viewer);
    if (this.#last !== undefined) viewer(this.#last);
    if (this.#viewers.size === 1) void this.#poll(this.#end.signal);
  }

  /** Removes a viewer. Without viewers the view ends for good. */
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
      const took = monotonicMs(began, this.#clock.now());
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

/** The views with viewers, by their keys. */
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
   * @param make makes the view, if it has no viewers yet
   * @returns a function that removes the viewer
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
