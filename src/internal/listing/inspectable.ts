type Inspect = (value: unknown, options?: object) => string;

/**
 * Makes `console.log` show the state of objects in Node, Bun and Deno. Without it, nothing is shown of objects that have
 * only private fields.
 */
export function makeInspectable<T extends object>(prototype: T, what: string, view: (object: T) => object): void {
  const define = (symbol: string, value: (this: T, ...args: never[]) => string) => {
    Object.defineProperty(prototype, Symbol.for(symbol), { value, configurable: true, writable: true });
  };
  define("nodejs.util.inspect.custom", function (_depth: number, options: object, inspect: Inspect) {
    return `${what} ${inspect(view(this), options)}`;
  });
  define("Deno.customInspect", function (inspect: Inspect, options: object) {
    return `${what} ${inspect(view(this), options)}`;
  });
}
