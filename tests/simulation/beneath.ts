import type { Attempt, AttemptOptions, Capability, Claim, Meta, Renewal, Store } from "../../src/contract/store.ts";

/** A store as it is, for those that differ from it in one call. */
export class Beneath implements Store {
  protected readonly store: Store;
  readonly capabilities: readonly Capability[] | undefined;
  readonly drift: (lease: number) => number;

  constructor(store: Store) {
    this.store = store;
    this.capabilities = store.capabilities;
    this.drift = (lease) => store.drift(lease);
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

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.store.wakeup!(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.store.revocation!(claim, signal);
  }

  forget(claim: Claim): void {
    this.store.forget!(claim);
  }
}
