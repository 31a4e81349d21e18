import { type EventSubject, type GaveUpReason, LockError, type LockEvent } from "@holdfast/lock";
import { before, type Clock, elapsed, type Instant } from "./clock.ts";
import type { OtelAttributes, OtelLink, OtelSpan, OtelTracer } from "./api.ts";
import type { QueryableStore } from "./options.ts";
import { parseTraceparent } from "./traceparent.ts";

/** The code of the status of a span that ended with an error. */
const ERROR = 2;

/** How many faults and links of a waiting call are kept: it may wait for ever on a store that fails again and again. */
const MOST_FAULTS = 100;
const MOST_LINKS = 8;

/** How long a release whose calls have failed may still be confirmed, in milliseconds: it is retried for 5 s. */
const UNCONFIRMED_MS = 10_000;

/** How many such releases are kept at a time. */
const MOST_UNCONFIRMED = 1_000;

/** The ends of a call that are no error: the caller asked for them, or gets `null`. */
const EXPECTED: readonly GaveUpReason[] = ["busy", "aborted"];

type SpanFault = LockEvent & { readonly type: "fault" };

/** A call that waits, or has seen a fault. Its span is made at its end: only then its links are known. */
interface SpanRequest {
  readonly faults: { readonly event: SpanFault; readonly at: Instant }[];
  links: OtelLink[];
}

/** A lock that is held. */
interface Hold {
  readonly span: OtelSpan;
  readonly begun: Instant;
}

/** A lock whose release has failed, and may still be confirmed. */
interface Unconfirmed extends Hold {
  /** When its release failed for the first time. */
  readonly failedAt: Instant;
}

/**
 * Makes a span for each call of `acquire` and for each lock that is held. An observer is called in the context of the
 * call, so that both are children of the span that is active there.
 */
export class LockSpans {
  readonly #tracer: OtelTracer;
  readonly #links: (() => QueryableStore) | undefined;
  readonly #clock: Clock;
  /** The waiting calls, by handle. A call is removed when it ends. */
  readonly #requests = new Map<string, SpanRequest>();
  /** The held locks, by handle. A lock is removed with its lease, or when its release fails. */
  readonly #holds = new Map<string, Hold>();
  /** The unconfirmed releases, by handle, the oldest failure first. */
  readonly #unconfirmed = new Map<string, Unconfirmed>();

  /** Creates spans with a tracer. To link a waiter to the holder, it asks the store that `links` returns. */
  constructor(tracer: OtelTracer, links: (() => QueryableStore) | undefined, clock: Clock) {
    this.#tracer = tracer;
    this.#links = links;
    this.#clock = clock;
  }

  /** Starts or ends the spans of an event. */
  observe(event: LockEvent): void {
    const now = this.#clock.now();
    this.#endUnconfirmed(now);
    switch (event.type) {
      case "waiting":
        if (this.#links !== undefined) this.#ask(event.name, this.#links, this.#request(event.handle));
        return;
      case "acquired":
        this.#endRequest(event, event.waited, now, "acquired").end(now.wall);
        return this.#beginHold(event, now);
      case "gave_up":
        return this.#giveUp(event, now);
      case "fault":
        return this.#fault(event, now);
      case "released":
        return this.#endHold(event.handle, event.held);
      case "lost":
        return this.#lose(event, now);
    }
  }

  #request(handle: string): SpanRequest {
    const known = this.#requests.get(handle);
    if (known !== undefined) return known;
    const request: SpanRequest = { faults: [], links: [] };
    this.#requests.set(handle, request);
    return request;
  }

  /** Asks for the holders of an awaited lock. If the answer comes after the grant, the span has no link. */
  #ask(name: string, store: () => QueryableStore, request: SpanRequest): void {
    const asked = Promise.resolve().then(() => store().query?.({ name }));
    asked.then((snapshot) => {
      const contexts = (snapshot?.held ?? []).flatMap(({ meta }) =>
        parseTraceparent(meta?.["traceparent"] ?? "") ?? []
      );
      request.links = contexts.slice(0, MOST_LINKS).map((context) => ({ context }));
    }).catch(() => {}); // A link is not worth an error.
  }

  /** Creates the span of a call that ends now. */
  #endRequest(event: EventSubject, waited: number, now: Instant, result: string): OtelSpan {
    const { faults, links } = this.#requests.get(event.handle) ?? { faults: [], links: [] };
    this.#requests.delete(event.handle);
    const span = this.#tracer.startSpan("holdfast.lock.acquire", {
      startTime: before(now, waited).wall,
      attributes: { ...attributesOf(event), "holdfast.lock.result": result },
      ...links.length > 0 && { links },
    });
    for (const { event, at } of faults) addFault(span, event, at);
    return span;
  }

  #giveUp(event: LockEvent & { readonly type: "gave_up" }, now: Instant): void {
    const { reason, error } = event;
    const span = this.#endRequest(event, event.waited, now, reason === "store" ? "error" : reason);
    if (!EXPECTED.includes(reason)) {
      span.setStatus({ code: ERROR, message: error instanceof Error ? error.message : reason });
    }
    span.end(now.wall);
  }

  #beginHold(event: LockEvent & { readonly type: "acquired" }, now: Instant): void {
    const attributes = { ...attributesOf(event), "holdfast.lock.fence": String(event.fence) };
    const span = this.#tracer.startSpan("holdfast.lock.hold", { startTime: now.wall, attributes });
    this.#holds.set(event.handle, { span, begun: now });
  }

  #lose(event: LockEvent & { readonly type: "lost" }, now: Instant): void {
    const { handle, reason, error, held } = event;
    const span = this.#holdOf(handle)?.span;
    span?.addEvent("holdfast.lock.lost", { "holdfast.lock.reason": reason, ...describe(error) }, now.wall);
    span?.setStatus({ code: ERROR, message: error.message });
    this.#endHold(handle, held);
  }

  #endHold(handle: string, held: number): void {
    const hold = this.#holdOf(handle);
    this.#holds.delete(handle);
    this.#unconfirmed.delete(handle);
    hold?.span.end(hold.begun.wall + held);
  }

  #holdOf(handle: string): Hold | undefined {
    return this.#holds.get(handle) ?? this.#unconfirmed.get(handle);
  }

  #fault(event: SpanFault, now: Instant): void {
    const { handle, operation } = event;
    if (operation === "attempt") {
      const { faults } = this.#request(handle);
      if (faults.length < MOST_FAULTS) faults.push({ event, at: now });
      return;
    }
    const span = this.#holdOf(handle)?.span;
    if (span !== undefined) addFault(span, event, now);
    const hold = this.#holds.get(handle);
    if (hold === undefined || operation !== "release") return;
    this.#holds.delete(handle);
    this.#unconfirmed.set(handle, { ...hold, failedAt: now });
  }

  /** Ends the spans of locks whose release has failed: no other event may follow. */
  #endUnconfirmed(now: Instant): void {
    for (const [handle, { span, failedAt }] of this.#unconfirmed) {
      if (this.#unconfirmed.size <= MOST_UNCONFIRMED && elapsed(failedAt, now) < UNCONFIRMED_MS) return;
      this.#unconfirmed.delete(handle);
      span.setStatus({ code: ERROR, message: "the store did not confirm the release" });
      span.end(failedAt.wall);
    }
  }
}

function attributesOf({ name, handle, mode, permits }: EventSubject): OtelAttributes {
  return {
    "holdfast.lock.name": name,
    "holdfast.lock.handle": handle,
    "holdfast.lock.mode": mode,
    ...permits !== undefined && { "holdfast.lock.permits": permits },
  };
}

function addFault(span: OtelSpan, { operation, error }: SpanFault, at: Instant): void {
  span.addEvent("holdfast.lock.fault", { "holdfast.lock.operation": operation, ...describe(error) }, at.wall);
}

/** Describes an error by the attributes of OpenTelemetry. */
function describe(error: unknown): OtelAttributes {
  if (!(error instanceof Error)) return { "exception.message": String(error) };
  const type = error instanceof LockError ? error.code : error.name;
  return { "exception.type": type, "exception.message": error.message };
}
