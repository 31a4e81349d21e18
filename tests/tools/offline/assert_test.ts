// Deno only: it tests a tool for Deno.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";

/** A class whose instances differ only in what they give. */
class Counter {
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }
}

const differ = (actual: unknown, expected: unknown) => void assertThrows(() => assertEquals(actual, expected), Error);

// Where the registry is in reach, the real package is tested.
Deno.test("assertEquals() takes errors for equal only if they are the same", () => {
  const error = new Error("busy");
  for (const wrap of [(e: Error) => e, (e: Error) => [{ e }], (e: Error) => new Map([["e", e]])]) {
    assertEquals(wrap(error), wrap(error));
    differ(wrap(error), wrap(new Error("busy")));
  }
  assertEquals(new Set([error]), new Set([error]));
  differ(new Set([error]), new Set([new Error("busy")]));
});

Deno.test("assertEquals() compares what the instances of a class give", () => {
  assertEquals([new Counter(1)], [new Counter(1)]);
  differ([new Counter(1)], [new Counter(2)]);
  assertEquals(AbortSignal.abort("over"), AbortSignal.abort("over"));
  differ(new AbortController().signal, AbortSignal.abort("over"));
});

Deno.test("assertEquals() compares structures", () => {
  const value = () => ({ a: [1, { b: new Date(5) }], c: new Map([[{ d: 1 }, new Set([{ e: 2n }])]]), f: /g/, h: NaN });
  assertEquals(value(), value());
  const ring: unknown[] = [1];
  ring.push(ring);
  const other: unknown[] = [1];
  other.push(other);
  assertEquals(ring, other);
  for (const changed of [{ ...value(), h: 1 }, { ...value(), i: undefined }, { ...value(), f: /h/ }]) {
    differ(value(), changed);
  }
  differ(new Date(5), new Date(6));
  differ(new Uint8Array([1]), new Uint8Array([2]));
  differ(new Map([[1, { a: 1 }]]), new Map([[1, { a: 2 }]]));
});

Deno.test("assertRejects() wants a promise, which rejects with an instance of the class", async () => {
  const fails = async (run: () => PromiseLike<unknown>) => {
    const outcome = await assertRejects(run, TypeError, "is busy").then(() => "passed", () => "failed");
    assertEquals(outcome, "failed");
  };
  await assertRejects(() => Promise.reject(new TypeError("it is busy")), TypeError, "is busy");
  await fails(() => Promise.resolve());
  await fails(() => Promise.reject(new TypeError("it is over")));
  await fails(() => Promise.reject(new Error("it is busy")));
  await fails(() => {
    throw new TypeError("it is busy");
  });
  await fails(() => undefined as never);
});
