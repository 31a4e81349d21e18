/** Returns whether a value is an `AbortSignal`, of whatever realm. */
export function isSignal(value: unknown): value is AbortSignal {
  return value !== null && typeof value === "object" && "throwIfAborted" in value && "addEventListener" in value;
}
