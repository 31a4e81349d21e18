import { aborted } from "../../src/time/aborted.ts";
import type { Observer } from "../../src/contract/events.ts";
import type {
  Attempt,
  AttemptOptions,
  Capability,
  Claim,
  EvictOptions,
  Meta,
  QueryOptions,
  Renewal,
  Snapshot,
  Store,
} from "../../src/contract/store.ts";

/** Passes every call on to a store, for those that differ from it in some. */
export class PassingStore implements Store {
  protected readonly store: Store;
  readonly capabilities: readonly Capability[] | undefined;
  readonly observer: Observer | undefined;
  readonly drift = (lease: number): number => this.store.drift(lease);
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;

  constructor(store: Store, observer: Observer | undefined = store.observer) {
    this.store = store;
    this.capabilities = store.capabilities;
    this.observer = observer;
    if (store.evict !== undefined) this.evict = (name, options) => store.evict!(name, options);
    if (store.query !== undefined) this.query = (options) => store.query!(options);
  }

  get closed(): boolean {
    return this.store.closed ?? false;
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.store.attempt(claim, options);
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.store.renew(claim);
  }

  release(claim: Claim): Promise<boolean> {
    return this.store.release(claim);
  }

  /** Resolves when the signal aborts where the store cannot notify. */
  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.store.wakeup?.(claim, signal) ?? aborted(signal);
  }

  /** Resolves when the signal aborts where the store cannot notify. */
  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.store.revocation?.(claim, signal) ?? aborted(signal);
  }

  forget(claim: Claim): void {
    this.store.forget?.(claim);
  }
}
