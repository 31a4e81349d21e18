import type {
  OtelAttributes,
  OtelCounter,
  OtelLink,
  OtelMeter,
  OtelMetricOptions,
  OtelObservableResult,
  OtelSpan,
  OtelSpanContext,
  OtelSpanOptions,
  OtelTracer,
} from "@holdfast/otel";

/** A value that was added or recorded. */
export interface Measurement {
  readonly value: number;
  readonly attributes: OtelAttributes;
}

/** A meter that keeps what it is told. */
export class RecordingMeter implements OtelMeter {
  /** The options of each instrument, by name. */
  readonly instruments = new Map<string, OtelMetricOptions>();
  readonly #measurements = new Map<string, Measurement[]>();
  readonly #callbacks = new Map<string, (result: OtelObservableResult) => void>();

  createCounter(name: string, options: OtelMetricOptions = {}): OtelCounter {
    return { add: this.#make(name, options) };
  }

  createUpDownCounter(name: string, options: OtelMetricOptions = {}): OtelCounter {
    return { add: this.#make(name, options) };
  }

  createHistogram(
    name: string,
    options: OtelMetricOptions = {},
  ): { record(value: number, attributes?: OtelAttributes): void } {
    return { record: this.#make(name, options) };
  }

  createObservableGauge(
    name: string,
    options: OtelMetricOptions = {},
  ): { addCallback(callback: (result: OtelObservableResult) => void): void } {
    this.instruments.set(name, options);
    return { addCallback: (callback) => void this.#callbacks.set(name, callback) };
  }

  /** What was added to an instrument or recorded by it, in order. */
  of(name: string): Measurement[] {
    return this.#measurements.get(`holdfast.lock.${name}`) ?? [];
  }

  /** The sum of what was added to an instrument with these attributes. */
  sum(name: string, attributes: OtelAttributes = {}): number {
    const same = this.of(name).filter((each) => JSON.stringify(each.attributes) === JSON.stringify(attributes));
    return same.reduce((sum, { value }) => sum + value, 0);
  }

  /** What a gauge reports now. */
  observe(name: string): Measurement[] {
    const reported: Measurement[] = [];
    const observe = (value: number, attributes: OtelAttributes = {}) => void reported.push({ value, attributes });
    this.#callbacks.get(`holdfast.lock.${name}`)?.({ observe });
    return reported;
  }

  #make(name: string, options: OtelMetricOptions): (value: number, attributes?: OtelAttributes) => void {
    this.instruments.set(name, options);
    const measurements: Measurement[] = [];
    this.#measurements.set(name, measurements);
    return (value, attributes = {}) => void measurements.push({ value, attributes });
  }
}

/** An event of a {@linkcode RecordedSpan}. */
export interface RecordedEvent {
  readonly name: string;
  readonly attributes: OtelAttributes;
  readonly time: number | undefined;
}

/** A span that keeps what it is told. */
export class RecordedSpan implements OtelSpan {
  readonly name: string;
  readonly attributes: OtelAttributes;
  readonly links: OtelLink[];
  readonly startTime: number;
  readonly events: RecordedEvent[] = [];
  status: { code: number; message?: string } | undefined;
  endTime: number | undefined;
  ends = 0;

  constructor(name: string, { attributes = {}, links = [], startTime = NaN }: OtelSpanOptions) {
    this.name = name.replace("holdfast.lock.", "");
    this.attributes = attributes;
    this.links = links;
    this.startTime = startTime;
  }

  /** How long it lasted, in milliseconds. */
  get duration(): number {
    return (this.endTime ?? NaN) - this.startTime;
  }

  spanContext(): OtelSpanContext {
    return { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 };
  }

  addEvent(name: string, attributes?: OtelAttributes, time?: number): void {
    this.events.push({ name: name.replace("holdfast.lock.", ""), attributes: attributes ?? {}, time });
  }

  setStatus(status: { code: number; message?: string }): void {
    this.status = status;
  }

  end(time?: number): void {
    this.ends++;
    this.endTime = time;
  }
}

/** A tracer that keeps its spans. */
export class RecordingTracer implements OtelTracer {
  readonly spans: RecordedSpan[] = [];

  startSpan(name: string, options: OtelSpanOptions = {}): RecordedSpan {
    const span = new RecordedSpan(name, options);
    this.spans.push(span);
    return span;
  }

  /** The spans of a name that have ended. */
  ended(name: "acquire" | "hold"): RecordedSpan[] {
    return this.spans.filter((span) => span.name === name && span.ends > 0);
  }
}
