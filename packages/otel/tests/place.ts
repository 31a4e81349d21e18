import type { Capability, Lock } from "@holdfast/lock";
import { assert } from "@std/assert";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { type AcquireOptions, checkAcquireOptions } from "../../../src/lock/options.ts";
import type { QueryableStore } from "../src/options.ts";
import { observerOf } from "../src/otel.ts";
import { ScriptedStore } from "../../../tests/support/scripted_store.ts";
import { VirtualClock } from "../../../tests/support/virtual_clock.ts";
import { RecordingMeter, RecordingTracer } from "./recording.ts";

/** What a test may set of the observer. */
export interface PlaceOptions {
  readonly group?: (name: string) => string | undefined;
  readonly links?: () => QueryableStore;
}

/** A scripted store that has permits. */
class PermitStore extends ScriptedStore {
  readonly capabilities: readonly Capability[] = ["permits"];
}

/** A scripted store whose observer is that of `otel()`, on a virtual clock. */
export class Place {
  readonly clock = new VirtualClock();
  readonly meter = new RecordingMeter();
  readonly tracer = new RecordingTracer();
  readonly store = new PermitStore(this.clock);

  constructor({ group, links }: PlaceOptions = {}) {
    const { meter, tracer } = this;
    this.store.observer = observerOf({ meter, tracer, group, links }, this.clock);
  }

  /** Calls `acquire` or, with `wait: 0`, `tryAcquire`. */
  acquire(name: string, options?: AcquireOptions): Promise<Lock | null> {
    return acquireFrom(this.store, name, checkAcquireOptions(options), this.clock);
  }

  /** Acquires a lock that is free. */
  async hold(name: string, options?: AcquireOptions): Promise<Lock> {
    const lock = await this.acquire(name, options);
    assert(lock !== null, "granted");
    return lock;
  }
}
