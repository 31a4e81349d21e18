import type { Backend, FoundDocument, WriteResult } from "../../src/engine/mod.ts";
import { CasStore } from "../../src/engine/store.ts";
import type { RemoteWaiters } from "../../src/engine/own_waiters.ts";
import { type LockDocument, parseDocument } from "../../src/engine/document.ts";
import { POSITION } from "../../src/engine/sweeper.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { Documents, memoryBackend, type MemoryBackendOptions } from "./memory_backend.ts";
import { ControlledTimers, TimerServer } from "./memory_timers.ts";

/** The name of the lock in these tests. */
export const NAME = "a";

/** What becomes of a request; the function that it gets executes it, at once or later. */
export type Hook<T> = (execute: () => Promise<T>) => Promise<T>;

/** A backend in memory that counts its requests, and lets a test decide what becomes of them. */
export class ControlledBackend {
  reads = 0;
  writes = 0;
  onRead: Hook<FoundDocument<number>> = (execute) => execute();
  onWrite: Hook<WriteResult<number>> = (execute) => execute();
  readonly #backend: Backend<number>;
  readonly read: Backend<number>["read"];
  readonly write: Backend<number>["write"];
  readonly remove: NonNullable<Backend<number>["remove"]>;
  readonly list: NonNullable<Backend<number>["list"]>;
  watch?: NonNullable<Backend<number>["watch"]>;
  maxBytes?: number;
  severalClocks?: boolean;
  timers?: ControlledTimers;

  constructor(documents: Documents, options: MemoryBackendOptions) {
    this.#backend = memoryBackend(documents, options);
    this.read = (key) => {
      // How far old documents were looked for is nothing of a lock.
      if (key === POSITION) return this.#backend.read(key);
      this.reads++;
      return this.onRead(() => this.#backend.read(key));
    };
    this.write = (...written) => {
      this.writes++;
      return this.onWrite(() => this.#backend.write(...written));
    };
    this.remove = this.#backend.remove!;
    this.list = this.#backend.list!;
    if (this.#backend.watch !== undefined) this.watch = this.#backend.watch;
  }

  /** How many requests there were since the last call of this. */
  trips(): { readonly reads: number; readonly writes: number } {
    const { reads, writes } = this;
    this.reads = this.writes = 0;
    return { reads, writes };
  }
}

/** A server in memory, and a clock that a test moves. */
export class Place {
  readonly documents = new Documents();
  readonly clock = new VirtualClock();
  readonly timerServer: TimerServer | undefined;
  readonly #options: MemoryBackendOptions;

  /** Makes a server whose clock is so many milliseconds ahead, if it has one. */
  constructor(
    { ahead, watches, timers = false }: {
      readonly ahead?: number;
      readonly watches?: boolean;
      readonly timers?: boolean;
    } = {},
  ) {
    if (timers) this.timerServer = new TimerServer(this.clock);
    const clock = ahead === undefined ? undefined : () => this.clock.now().wall + ahead;
    this.#options = { clock, ...watches === undefined ? {} : { watches } };
  }

  /** Connects another process, by default one on the same clock. */
  connect(
    { clock = this.clock, maxClockSkew = 10_000, remote, ...changed }:
      & { readonly clock?: VirtualClock; readonly maxClockSkew?: number; readonly remote?: RemoteWaiters }
      & Pick<ControlledBackend, "maxBytes" | "severalClocks" | "watch"> = {},
  ): { readonly store: CasStore; readonly backend: ControlledBackend; readonly timers: ControlledTimers } {
    const timers = new ControlledTimers(this.timerServer ?? new TimerServer(this.clock));
    if (this.timerServer !== undefined) Object.assign(changed, { timers });
    const backend = Object.assign(new ControlledBackend(this.documents, this.#options), changed);
    return {
      store: new CasStore(backend as Backend, { maxClockSkew, observer: undefined, remote }, clock, () => 0.5),
      backend,
      timers,
    };
  }

  /** What is kept. */
  get document(): LockDocument {
    return parseDocument(NAME, this.documents.texts.get(NAME)?.value);
  }

  /** The names that have a document, in their order. */
  names(): string[] {
    return [...this.documents.texts.keys()].filter((key) => key !== "").sort();
  }

  /** The handles that hold the lock, and those that wait for it. */
  get handles(): { readonly holders: readonly string[]; readonly queue: readonly string[] } {
    const { holders, queue } = this.document;
    return { holders: [...holders.keys()], queue: queue.map(({ claim: { handle, owner } }) => handle ?? owner) };
  }
}

/** A request that was held up. */
export interface HeldRequest<T> {
  /** Executes it. */
  readonly execute: () => Promise<T>;
}

/** Returns a hook that holds up the next request, which is then never answered, and what executes it later. */
export function heldUp<T>(restore: () => void): { readonly hook: Hook<T>; readonly request: Promise<HeldRequest<T>> } {
  const { promise, resolve } = Promise.withResolvers<HeldRequest<T>>();
  const hook: Hook<T> = (execute) => {
    restore();
    resolve({ execute });
    return new Promise(() => {});
  };
  return { hook, request: promise };
}
