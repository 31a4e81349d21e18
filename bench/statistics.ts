/** What a set of samples looks like. */
export interface Summary {
  readonly samples: number;
  readonly median: number;
  /** The first and the third quartile: how far apart ordinary samples lie. */
  readonly quartiles: readonly [number, number];
  readonly p95: number;
  readonly largest: number;
}

/** Returns the value below which a part of the samples lies, between two of them in proportion. */
export function quantile(samples: readonly number[], part: number): number {
  if (samples.length === 0) throw new RangeError("samples must not be empty");
  const sorted = samples.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}

/** Returns the sample in the middle. */
export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** Returns the sum of the samples by their number. */
export function mean(samples: readonly number[]): number {
  if (samples.length === 0) throw new RangeError("samples must not be empty");
  return samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
}

/** Sums up samples. */
export function summarize(samples: readonly number[]): Summary {
  return {
    samples: samples.length,
    median: median(samples),
    quartiles: [quantile(samples, 0.25), quantile(samples, 0.75)],
    p95: quantile(samples, 0.95),
    largest: quantile(samples, 1),
  };
}

/** Divides each sample by the one that was taken beside it: what slows down both of them cancels out. */
export function ratios(numerators: readonly number[], denominators: readonly number[]): number[] {
  if (numerators.length !== denominators.length) throw new RangeError("samples must come in pairs");
  return numerators.map((numerator, place) => numerator / denominators[place]!);
}
