import type { Store } from "@holdfast/lock";
import type { Clock } from "../../time/clock.ts";
import { EventStream } from "../requests/event_stream.ts";
import type { Html } from "../pages/html.ts";
import { LeaseEnds } from "./lease_ends.ts";
import { type ListModel, listModel, type LockModel, lockModel } from "./lock_model.ts";
import type { LockPage } from "../../listing/pages.ts";
import type { Surroundings } from "../pages/layout.ts";
import { listFragment, type ListRequest, listSummary } from "../pages/list.ts";
import { lockFragment, lockSummary } from "../pages/lock.ts";
import { listPart, listQuery } from "../requests/parameters.ts";
import { readList, readLock } from "./reading.ts";
import { ifChanged, View, type Viewer, Views } from "./view.ts";

/** Shows a model: the part of a page that changes, and the words for a screen reader. */
type Show<Model> = (model: Model, at: Surroundings) => { readonly html: Html; readonly summary: string };

/** The locks that were read for all lists with the same filter, with their leases. */
interface Reading extends LockPage {
  readonly ends: LeaseEnds;
}

/** The events of the pages that are open in browsers. */
export class Live {
  readonly #clock: Clock;
  readonly #refresh: number;
  readonly #counters: () => Html;
  readonly #streams = new Set<EventStream>();
  readonly #lists = new Views<Reading>();
  readonly #locks = new Views<LockModel>();
  readonly #counts = new Views<{ readonly html: string }>();

  /**
   * Creates the streams. Each view polls every `refresh` milliseconds; `counters` makes the table of this process's
   * counts.
   */
  constructor(clock: Clock, refresh: number, counters: () => Html) {
    this.#clock = clock;
    this.#refresh = refresh;
    this.#counters = counters;
  }

  /** How many different views are polled at present. */
  get polled(): number {
    return this.#lists.size + this.#locks.size + this.#counts.size;
  }

  /** Answers with the events of a list. */
  list(store: Store, request: ListRequest, at: Surroundings): Response {
    const query = listQuery(request);
    const part = listPart(request);
    const make = () => {
      const ends = new LeaseEnds();
      return this.#view(async (signal): Promise<Reading> => {
        const page = await readList(store, query, this.#clock, signal);
        ends.update(page.locks, this.#clock.now());
        return { ...page, ends };
      });
    };
    const show: Show<ListModel> = (model, at) => ({
      html: listFragment(model, request, at),
      summary: listSummary(model, request),
    });
    return this.#stream((stream) => {
      const viewer = this.#viewer(stream, show, at);
      return [
        this.#lists.watch(JSON.stringify(query), make, (update) => {
          viewer("fault" in update ? update : { model: listModel(update.model, update.model.ends, part) });
        }),
        this.#counts.watch(
          "",
          () => this.#view(() => Promise.resolve({ html: this.#counters().text })),
          ifChanged((update) => {
            if ("model" in update) stream.send("counters", update.model);
          }),
        ),
      ];
    });
  }

  /** Answers with the events of one lock. */
  lock(store: Store, name: string, at: Surroundings): Response {
    const make = () => {
      const ends = new LeaseEnds();
      return this.#view(async () => lockModel(await readLock(store, name, this.#clock), ends, this.#clock.now()));
    };
    const show: Show<LockModel> = (model, at) => ({ html: lockFragment(model, at), summary: lockSummary(model) });
    return this.#stream((stream) => [this.#locks.watch(name, make, this.#viewer(stream, show, at))]);
  }

  /** Ends all streams, and so all polls. */
  close(): void {
    for (const stream of [...this.#streams]) stream.close();
  }

  #view<Model>(read: (signal: AbortSignal) => Promise<Model>): View<Model> {
    return new View(read, this.#refresh, this.#clock);
  }

  #viewer<Model>(stream: EventStream, show: Show<Model>, at: Surroundings): Viewer<Model> {
    return ifChanged((update) => {
      if ("fault" in update) return stream.send("fault", { message: `The store did not answer: ${update.fault}` });
      const { wall: now } = this.#clock.now();
      const { html, summary } = show(update.model, { ...at, now });
      stream.send("view", { html: html.text, summary, now });
    });
  }

  #stream(watch: (stream: EventStream) => readonly (() => void)[]): Response {
    const ends: (() => void)[] = [];
    const stream = new EventStream(this.#clock, () => {
      this.#streams.delete(stream);
      for (const end of ends) end();
    });
    this.#streams.add(stream);
    ends.push(...watch(stream));
    return stream.response;
  }
}
