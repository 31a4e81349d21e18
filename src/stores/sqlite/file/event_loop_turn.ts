/** Resolves after a turn of the event loop, sooner than any timer. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => void globalThis.setImmediate(resolve));
}
