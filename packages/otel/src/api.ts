// What is used of OpenTelemetry, as structural types: `@opentelemetry/api` 1.x and `Deno.telemetry` have these shapes,
// and nothing has to be imported.

/** The attributes of a measurement, a span or an event. */
export type OtelAttributes = Record<string, string | number | boolean>;

/** The description of an instrument. */
export interface OtelMetricOptions {
  /** The quantity that it measures. */
  description?: string;
  /** The unit, in the notation of UCUM. */
  unit?: string;
  /** Hints to the SDK about the values. */
  advice?: {
    /** The ends of the buckets of a histogram, in its unit. */
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

/** An instrument whose callback reports its value at each export, such as an `ObservableGauge`. */
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
  /** Makes a value that is read at each export. */
  createObservableGauge(name: string, options?: OtelMetricOptions): OtelObservable;
}

/** The identity of a span. */
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

/** A reference from one span to another. */
export interface OtelLink {
  /** The other span. */
  context: OtelSpanContext;
}

/** The options of a span. */
export interface OtelSpanOptions {
  /** The attributes of the span. */
  attributes?: OtelAttributes;
  /** The spans that it refers to. */
  links?: OtelLink[];
  /** When it began: milliseconds since the Unix epoch. */
  startTime?: number;
}

/** A `Span`. */
export interface OtelSpan {
  /** Returns the identity of the span. */
  spanContext(): OtelSpanContext;
  /** Records an event at a moment in milliseconds since the Unix epoch. */
  addEvent(name: string, attributes?: OtelAttributes, time?: number): unknown;
  /** Sets how the span ended: 2 is an error. */
  setStatus(status: { code: number; message?: string }): unknown;
  /** Ends the span, at a moment in milliseconds since the Unix epoch. */
  end(time?: number): void;
}

/** A `Tracer`: creates spans. */
export interface OtelTracer {
  /** Begins a span whose parent is the active one. */
  startSpan(name: string, options?: OtelSpanOptions): OtelSpan;
}

/** The source of the active span: the `trace` of `@opentelemetry/api`. */
export interface OtelTrace {
  /** Returns the active span, if any. */
  getActiveSpan(): OtelSpan | undefined;
}
