import type { GaveUpReason, LockEvent } from "@holdfast/lock";
import { type Clock, type Instant, monotonicMs } from "./clock.ts";
import type { OtelAttributes, OtelCounter, OtelHistogram, OtelMeter, OtelObservableResult } from "./api.ts";

/** The ends of the histograms' buckets, in seconds: from a lock in memory to a job of an hour. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

/** A handle that waits for a lock, or holds it. */
interface GaugeEntry {
  readonly group: string | undefined;
  readonly since: Instant;
}

/** Counts the events of locks. Its attributes have few values, however many names there are. */
export class LockMetrics {
  readonly #group: ((name: string) => string | undefined) | undefined;
  readonly #clock: Clock;
  readonly #waitDuration: OtelHistogram;
  readonly #holdDuration: OtelHistogram;
  readonly #active: OtelCounter;
  readonly #requests: OtelCounter;
  readonly #contentions: OtelCounter;
  readonly #renewals: OtelCounter;
  readonly #faults: OtelCounter;
  /** The handles that wait, the longest wait first. A handle is removed when its call ends. */
  readonly #waiting = new Map<string, GaugeEntry>();
  /** The handles that hold a lock, the oldest first. A handle is removed with its lease, or when its release fails. */
  readonly #held = new Map<string, GaugeEntry>();
  /** The handles whose attempts have failed. A handle is removed when it begins to wait or its call ends. */
  readonly #failed = new Set<string>();

  /** Makes the instruments. */
  constructor(meter: OtelMeter, group: ((name: string) => string | undefined) | undefined, clock: Clock) {
    this.#group = group;
    this.#clock = clock;
    const advice = { explicitBucketBoundaries: BUCKETS_S };
    this.#waitDuration = meter.createHistogram("holdfast.lock.wait.duration", {
      description: "From the call of acquire until it ended, with the lock or without",
      unit: "s",
      advice,
    });
    this.#holdDuration = meter.createHistogram("holdfast.lock.hold.duration", {
      description: "For how long locks were held that have ended",
      unit: "s",
      advice,
    });
    this.#active = meter.createUpDownCounter("holdfast.lock.active", {
      description: "Locks that are held",
      unit: "{lock}",
    });
    this.#requests = meter.createUpDownCounter("holdfast.lock.request.active", {
      description: "Calls that wait for a lock",
      unit: "{request}",
    });
    this.#contentions = meter.createCounter("holdfast.lock.contentions", {
      description: "Calls that found the lock held",
      unit: "{request}",
    });
    this.#renewals = meter.createCounter("holdfast.lock.renewals", {
      description: "Leases that were renewed",
      unit: "{renewal}",
    });
    this.#faults = meter.createCounter("holdfast.lock.faults", {
      description: "Calls to the store that failed or were not answered in time",
      unit: "{fault}",
    });
    this.#observeOldest(meter);
  }

  /** Counts an event. */
  observe(event: LockEvent): void {
    switch (event.type) {
      case "waiting":
        return this.#wait(event);
      case "acquired":
        this.#endWait(event, "acquired", event.waited);
        return this.#hold(event);
      case "gave_up":
        if (event.reason === "busy") this.#contentions.add(1, this.#attributes(event));
        return this.#endWait(event, resultOf(event.reason), event.waited);
      case "renewed":
        return this.#renewals.add(1, this.#attributes(event));
      case "released":
        return this.#endHold(event, "released", event.held);
      case "lost":
        return this.#endHold(event, event.reason, event.held);
      case "fault":
        return this.#fault(event);
    }
  }

  #wait(event: LockEvent): void {
    const { handle } = event;
    if (this.#waiting.has(handle)) return;
    const entry = this.#entry(event);
    this.#waiting.set(handle, entry);
    this.#requests.add(1, attributesOf(entry.group));
    // A caller that waits because the store has failed has not found the lock held.
    if (!this.#failed.delete(handle)) this.#contentions.add(1, attributesOf(entry.group));
  }

  #endWait(event: LockEvent, result: string, ms: number): void {
    const { handle } = event;
    this.#failed.delete(handle);
    this.#waitDuration.record(ms / 1_000, { ...this.#attributes(event), result });
    const entry = this.#waiting.get(handle);
    if (entry === undefined) return; // Not every call waits.
    this.#waiting.delete(handle);
    this.#requests.add(-1, attributesOf(entry.group));
  }

  #hold(event: LockEvent): void {
    const entry = this.#entry(event);
    this.#held.set(event.handle, entry);
    this.#active.add(1, attributesOf(entry.group));
  }

  #endHold(event: LockEvent, end: string, ms: number): void {
    this.#holdDuration.record(ms / 1_000, { ...this.#attributes(event), end });
    this.#letGo(event);
  }

  #fault(event: LockEvent & { readonly type: "fault" }): void {
    const { handle, operation } = event;
    this.#faults.add(1, { ...this.#attributes(event), operation });
    if (operation === "attempt") this.#failed.add(handle);
    // The holder has released the lock. If the store never confirms the release, no other event follows.
    if (operation === "release") this.#letGo(event);
  }

  /** Counts a lock as no longer held, once, with the attributes of its grant. */
  #letGo({ handle }: LockEvent): void {
    const entry = this.#held.get(handle);
    if (entry === undefined) return;
    this.#held.delete(handle);
    this.#active.add(-1, attributesOf(entry.group));
  }

  #entry({ name }: LockEvent): GaugeEntry {
    return { group: this.#groupOf(name), since: this.#clock.now() };
  }

  #attributes({ name }: LockEvent): OtelAttributes {
    return attributesOf(this.#groupOf(name));
  }

  /** Returns the group of a name; none if the user's function fails, so that no event goes uncounted. */
  #groupOf(name: string): string | undefined {
    try {
      const group: unknown = this.#group?.(name);
      return typeof group === "string" ? group : undefined;
    } catch {
      return undefined;
    }
  }

  #observeOldest(meter: OtelMeter): void {
    const gauges = [
      ["holdfast.lock.wait.oldest", "For how long the call has waited that waits for longest", this.#waiting],
      ["holdfast.lock.hold.oldest", "For how long the lock has been held that is held for longest", this.#held],
    ] as const;
    for (const [name, description, entries] of gauges) {
      const gauge = meter.createObservableGauge(name, { description, unit: "s" });
      gauge.addCallback((result) => this.#reportOldest(result, entries));
    }
  }

  /** Reports the age of the oldest entry of each group. Without groups it always reports one value, 0 for no entry. */
  #reportOldest(result: OtelObservableResult, entries: ReadonlyMap<string, GaugeEntry>): void {
    const now = this.#clock.now();
    const seen = new Set<string | undefined>();
    for (const { group, since } of entries.values()) {
      if (seen.has(group)) continue;
      seen.add(group);
      result.observe(monotonicMs(since, now) / 1_000, attributesOf(group));
      if (this.#group === undefined) return;
    }
    if (this.#group === undefined) result.observe(0);
  }
}

function attributesOf(group: string | undefined): OtelAttributes {
  return group === undefined ? {} : { group };
}

function resultOf(reason: GaveUpReason): string {
  return reason === "store" ? "error" : reason;
}
