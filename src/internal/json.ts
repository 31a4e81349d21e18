/** Returns an object for JSON: with its fences as text, as JSON has no bigint, and its errors as their messages. */
export function toJson(object: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, valueOf(value)]));
}

function valueOf(value: unknown): unknown {
  if (value instanceof Map) return toJson(Object.fromEntries(value));
  return typeof value === "bigint" || value instanceof Error ? String(value) : value;
}
