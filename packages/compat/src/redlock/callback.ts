/** A callback as redlock 4 takes it. */
export type RedlockCallback<T> = (error: unknown, result?: T) => void;

/** Calls a callback, if there is one, when a promise has settled. Returns the promise. */
export function called<T>(promise: Promise<T>, callback?: RedlockCallback<T>): Promise<T> {
  if (callback !== undefined) promise.then((result) => callback(null, result), callback);
  return promise;
}
