/**
 * What the test files need of Deno, for the other runtimes, and the builtins that are younger than the oldest of these.
 * The package under test uses none of them.
 *
 * @module
 */

/** A test that a file has defined. */
export interface Test {
  readonly name: string;
  readonly run: () => void | Promise<void>;
  /** Whether its file leaves it out here. */
  readonly ignore: boolean;
}

/** The tests of all files that were imported, in their order. */
export const tests: Test[] = [];

Reflect.set(globalThis, "Deno", {
  test: define,
  makeTempDirSync: ({ prefix }: { prefix: string }) =>
    files().mkdtempSync(`${process.env["TMPDIR"] ?? "/tmp"}/${prefix}`),
  removeSync: (path: string, options: { recursive?: boolean }) => files().rmSync(path, options),
  Promise: { withResolvers },
  Map: { groupBy },
});

globalThis.SuppressedError ??= class extends Error {
  override readonly name = "SuppressedError";
  readonly error: unknown;
  readonly suppressed: unknown;

  constructor(error: unknown, suppressed: unknown, message?: string) {
    super(message);
    [this.error, this.suppressed] = [error, suppressed];
  }
} as unknown as typeof SuppressedError;

globalThis.AsyncDisposableStack ??= class Stack {
  #disposals: (() => unknown)[] = [];

  defer(dispose: () => unknown): void {
    this.#disposals.push(dispose);
  }

  use<T extends AsyncDisposable>(value: T): T {
    this.defer(() => value[Symbol.asyncDispose]());
    return value;
  }

  move(): Stack {
    const stack = new Stack();
    [stack.#disposals, this.#disposals] = [this.#disposals, stack.#disposals];
    return stack;
  }

  async disposeAsync(): Promise<void> {
    for (let dispose = this.#disposals.pop(); dispose !== undefined; dispose = this.#disposals.pop()) await dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
} as unknown as typeof AsyncDisposableStack;

/** `Deno.test` in the two forms that the test files use. */
function define(
  ...[test, run]: [name: string, run: Test["run"]] | [test: { name: string; fn: Test["run"]; ignore?: boolean }]
): void {
  if (typeof test === "string" && typeof run === "function") tests.push({ name: test, run, ignore: false });
  else if (typeof test === "object") tests.push({ name: test.name, run: test.fn, ignore: test.ignore ?? false });
  else throw new TypeError(`Deno.test() is not known in this form: ${test}`);
}

function files(): typeof import("node:fs") {
  return process.getBuiltinModule("node:fs");
}

function withResolvers<T>(): PromiseWithResolvers<T> {
  let [resolve, reject] = [(_: T | PromiseLike<T>) => {}, (_?: unknown) => {}];
  const promise = new Promise<T>((...both) => [resolve, reject] = both);
  return { promise, resolve, reject };
}

function groupBy<K, V>(values: Iterable<V>, keyOf: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) groups.set(keyOf(value), [...groups.get(keyOf(value)) ?? [], value]);
  return groups;
}
