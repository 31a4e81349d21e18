/** Keeps this process from doing anything for so many milliseconds: what arrives meanwhile lies unread. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
