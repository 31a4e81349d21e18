type Inspect = (value: unknown, options?: object) => string;

/**
 * Makes `console.log` show the state of objects in Node, Bun and Deno, and `JSON.stringify` write it. Otherwise nothing
 * is shown of objects that have only private fields, and a fence has no JSON.
 */
export function makeInspectable<T extends object>(prototype: T, what: string, view: (object: T) => object): void {
  const define = (key: string | symbol, value: (this: T, ...args: never[]) => unknown) => {
    Object.defineProperty(prototype, key, { value, configurable: true, writable: true });
  };
  define("toJSON", function () {
    return toJson(view(this));
  });
  define(Symbol.for("nodejs.util.inspect.custom"), function (_depth: number, options: object, inspect: Inspect) {
    return `${what} ${inspect(view(this), options)}`;
  });
  define(Symbol.for("Deno.customInspect"), function (inspect: Inspect, options: object) {
    return `${what} ${inspect(view(this), options)}`;
  });
}

/** Returns an object for JSON: with its fences as text, as JSON has no bigint, and its errors as their messages. */
export function toJson(object: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, valueOf(value)]));
}

function valueOf(value: unknown): unknown {
  if (value instanceof Map) return toJson(Object.fromEntries(value));
  return typeof value === "bigint" || value instanceof Error ? String(value) : value;
}
