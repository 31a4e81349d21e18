/** Resolves when the event loop has turned: sooner than any timer runs. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => void globalThis.setImmediate(resolve));
}
