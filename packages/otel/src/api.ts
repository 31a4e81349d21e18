// What is used of OpenTelemetry, as structural types: `@opentelemetry/api` 1.x and `Deno.telemetry` have these shapes, and
// nothing has to be imported.

/** The attributes of a measurement, a span or an event. */
export type OtelAttributes = Record<string, string | number | boolean>;

/** How an instrument is described. */
export interface OtelMetricOptions {
  /** The quantity that it measures. */
  description?: string;
  /** The unit, in the notation of UCUM. */
  unit?: string;
  /** Hints to the SDK about the values. */
  advice?: {
    /** Where the buckets of a histogram end, in its unit. */
    explicitBucketBoundaries?: number[];
  };
}

/** A sum that is added to: a `Counter` or an `UpDownCounter`. */
export interface OtelCounter {
  /** Adds to the sum of these attributes. */
  add(value: number, attributes?: OtelAttributes): void;
}

/** A `Histogram`. */
export interface OtelHistogram {
  /** Counts a value. */
  record(value: number, attributes?: OtelAttributes): void;
}

/** The recipient of the values that the callback of an {@linkcode OtelObservable} reports. */
export interface OtelObservableResult {
  /** Reports the present value. */
  observe(value: number, attributes?: OtelAttributes): void;
}

/** An instrument whose value is asked for when it is exported, such as an `ObservableGauge`. */
export interface OtelObservable {
  /** Registers a function that is called at each export. */
  addCallback(callback: (result: OtelObservableResult) => void): void;
}

/** A `Meter`: makes instruments. */
export interface OtelMeter {
  /** Makes a sum that only rises. */
  createCounter(name: string, options?: OtelMetricOptions): OtelCounter;
  /** Makes a sum that rises and falls. */
  createUpDownCounter(name: string, options?: OtelMetricOptions): OtelCounter;
  /** Makes a histogram. */
  createHistogram(name: string, options?: OtelMetricOptions): OtelHistogram;
  /** Makes a value that is asked for. */
  createObservableGauge(name: string, options?: OtelMetricOptions): OtelObservable;
}

/** Which span of which trace. */
export interface OtelSpanContext {
  /** The trace: 32 hexadecimal digits. */
  traceId: string;
  /** The span: 16 hexadecimal digits. */
  spanId: string;
  /** Bit 0: whether the trace is sampled. */
  traceFlags: number;
  /** Whether the span belongs to another process. */
  isRemote?: boolean;
}

/** A reference from one span to another one. */
export interface OtelLink {
  /** The other span. */
  context: OtelSpanContext;
}

/** How a span begins. */
export interface OtelSpanOptions {
  /** Its attributes. */
  attributes?: OtelAttributes;
  /** The spans that it refers to. */
  links?: OtelLink[];
  /** When it began: milliseconds since the Unix epoch. */
  startTime?: number;
}

/** A `Span`. */
export interface OtelSpan {
  /** Which span it is. */
  spanContext(): OtelSpanContext;
  /** Notes that something happened, at that moment in milliseconds since the Unix epoch. */
  addEvent(name: string, attributes?: OtelAttributes, time?: number): unknown;
  /** Says how it ended: 2 is an error. */
  setStatus(status: { code: number; message?: string }): unknown;
  /** Ends it, at that moment in milliseconds since the Unix epoch. */
  end(time?: number): void;
}

/** A `Tracer`: makes spans. */
export interface OtelTracer {
  /** Begins a span whose parent is the active one. */
  startSpan(name: string, options?: OtelSpanOptions): OtelSpan;
}

/** The source of the active span: the `trace` of `@opentelemetry/api`. */
export interface OtelTrace {
  /** Returns the active span, if there is one. */
  getActiveSpan(): OtelSpan | undefined;
}
