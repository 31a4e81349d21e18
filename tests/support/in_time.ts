/** Settles like the promise, or rejects after so many milliseconds. */
export async function inTime<T>(promise: Promise<T>, ms: number, what: string | (() => string)): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error(`${typeof what === "string" ? what : what()} took longer than ${ms} ms`));
  }, ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
