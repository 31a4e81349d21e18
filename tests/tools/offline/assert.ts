// Stands in for @std/assert where its registry is out of reach: the functions that the tests use, over node:assert.
import { deepStrictEqual, ok } from "node:assert/strict";

type Class<E> = abstract new (...args: never[]) => E;

/** Fails unless the condition holds. */
export function assert(condition: unknown, message = ""): asserts condition {
  ok(condition, message);
}

/** Fails unless both are equal in structure. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  deepStrictEqual(actual, expected, message);
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
  try {
    await run();
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
