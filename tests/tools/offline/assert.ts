// Stands in for @std/assert where its registry is out of reach: the functions that the tests use, over node:assert.
// What passes here passes there.
import { deepStrictEqual, ok } from "node:assert/strict";

type Class<E> = abstract new (...args: never[]) => E;

/** Fails unless the condition holds. */
export function assert(condition: unknown, message = ""): asserts condition {
  ok(condition, message);
}

/** Fails unless both are equal in structure. Errors are equal only to themselves: each has a stack of its own. */
export function assertEquals<T>(actual: T, expected: T, message = ""): void {
  deepStrictEqual(actual, expected, message || undefined as never);
  ok(isEqual(actual, expected), `equal but for errors, or what instances of a class give: ${message}`);
}

/** Fails unless the value is an instance of the class. */
export function assertInstanceOf<E>(value: unknown, type: Class<E>, message?: string): asserts value is E {
  ok(value instanceof type, message ?? `expected ${type.name}: got ${value}`);
}

/** Fails unless the function throws an instance of the class, and gives that. */
export function assertThrows<E extends Error>(run: () => unknown, type: Class<E>, includes = ""): E {
  try {
    run();
  } catch (error) {
    return matching(error, type, includes);
  }
  throw new Error(`expected ${type.name} to be thrown`);
}

/** Fails unless the function's promise rejects with an instance of the class, and gives that. */
export async function assertRejects<E extends Error>(
  run: () => PromiseLike<unknown>,
  type: Class<E>,
  includes = "",
): Promise<E> {
  // What throws, or returns no promise, does not reject.
  const promise = run();
  ok(typeof promise?.then === "function", "expected a promise");
  try {
    await promise;
  } catch (error) {
    return matching(error, type, includes);
  }
  throw new Error(`expected a rejection with ${type.name}`);
}

function matching<E extends Error>(error: unknown, type: Class<E>, includes: string): E {
  assertInstanceOf(error, type);
  ok(error.message.includes(includes), `expected ${JSON.stringify(includes)} in ${JSON.stringify(error.message)}`);
  return error;
}

/** Values that are compared as a whole. */
const ATOMS = [Date, RegExp, URL, URLSearchParams, ArrayBuffer];

/** Whether what node:assert takes for equal is so by what std looks at: errors, and what classes inherit. */
function isEqual(a: unknown, b: unknown, seen = new Map<unknown, unknown>()): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Error || b instanceof Error) return false;
  if (ArrayBuffer.isView(a) || ATOMS.some((type) => a instanceof type) || seen.get(a) === b) return true;
  seen.set(a, b);
  if (a instanceof Set && b instanceof Set) {
    return [...a].every((value) => b.has(value) || [...b].some((other) => isEqual(value, other, new Map(seen))));
  }
  if (a instanceof Map && b instanceof Map) return isEqual(new Set(a), new Set(b), seen);
  const keys = new Set([...keysOf(a), ...keysOf(b)]);
  return [...keys].every((key) => isEqual(Reflect.get(a, key), Reflect.get(b, key), seen));
}

/** The keys of an object, and of a class those that its instances inherit. */
function keysOf(value: object): (string | symbol)[] {
  const prototype = Object.getPrototypeOf(value);
  const keys = Reflect.ownKeys(value);
  if ([null, Object.prototype, Array.prototype].includes(prototype)) return keys;
  return [...keys, ...keysOf(prototype)];
}
