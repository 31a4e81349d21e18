import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { assertDomError, failure, type Locks, pending, type Steps } from "./place.ts";

type AnyArguments = (...args: unknown[]) => Promise<unknown>;

/** Makes a request whose arguments TypeScript would refuse. */
function request(locks: Locks, ...args: unknown[]): Promise<unknown> {
  return (locks.request as unknown as AnyArguments).apply(locks, args);
}

const never = () => {
  throw new Error("the callback must not be called");
};
const mode = (lock: { mode: string } | null) => lock?.mode;

/** How the arguments of `request()` are converted, and what it refuses, in this order. */
export const ARGUMENTS: Steps = {
  async "request() needs two arguments"({ connect, name }) {
    for (const args of [[], [name]]) assertInstanceOf(await failure(request(connect(), ...args)), TypeError);
  },

  async "request() takes its last argument for the callback, which must be a function"({ connect, name }) {
    for (const callback of [undefined, null, {}, "f"]) {
      assertInstanceOf(await failure(request(connect(), name, callback)), TypeError);
      assertInstanceOf(await failure(request(connect(), name, {}, callback)), TypeError);
    }
  },

  async "request() without options waits for an exclusive lock"({ connect, name }) {
    assertEquals(await request(connect(), name, mode), "exclusive");
  },

  async "request() reads undefined and null as no options, and those of a function"({ connect, name }) {
    for (const options of [undefined, null, {}, () => {}]) {
      assertEquals(await request(connect(), name, options, mode), "exclusive");
    }
    const options = Object.assign(() => {}, { mode: "shared" });
    assertEquals(await request(connect(), name, options, mode), "shared");
  },

  async "request() refuses options that are no object"({ connect, name }) {
    for (const options of [3, "shared", true, Symbol("shared")]) {
      assertInstanceOf(await failure(request(connect(), name, options, never)), TypeError);
    }
  },

  async "request() takes no other mode than exclusive and shared"({ connect, name }) {
    for (const wrong of ["", "Shared", null, 1, Symbol("shared")]) {
      assertInstanceOf(await failure(request(connect(), name, { mode: wrong }, never)), TypeError);
    }
    for (const right of ["exclusive", "shared", { toString: () => "shared" }]) {
      assertEquals(await request(connect(), name, { mode: right }, mode), `${right}`);
    }
  },

  async "request() takes whatever is truthy for true"({ connect, name }) {
    await assertDomError(request(connect(), name, { steal: 1, ifAvailable: "no" }, never), "NotSupportedError");
    assertEquals(await request(connect(), name, { steal: 0, ifAvailable: "" }, mode), "exclusive");
  },

  async "request() takes no other signal than an AbortSignal"({ connect, name }) {
    for (const signal of [null, {}, new AbortController(), "aborted"]) {
      assertInstanceOf(await failure(request(connect(), name, { signal }, never)), TypeError);
    }
    assertEquals(await request(connect(), name, { signal: undefined }, mode), "exclusive");
  },

  async "request() ignores options that it does not know"({ connect, name }) {
    assertEquals(await request(connect(), name, { timeout: 1 }, mode), "exclusive");
  },

  async "request() refuses wrong types before whatever is not supported"({ connect, name }) {
    for (const options of [{ mode: "none" }, { signal: null }, 3]) {
      assertInstanceOf(await failure(request(connect(), `-${name}`, options, never)), TypeError);
    }
    assertInstanceOf(await failure(request(connect(), `-${name}`, {}, undefined)), TypeError);
  },

  async "request() never throws: it rejects"({ connect, name }) {
    const locks = connect();
    for (const args of [[], [name, {}], [`-${name}`, never], [name, { mode: "none" }, never]]) {
      const promise = request(locks, ...args);
      assertInstanceOf(promise, Promise);
      await failure(promise);
    }
  },

  async "request() refuses a name with a leading hyphen before it reads the options"({ connect, name }) {
    for (const reserved of [`-${name}`, "-"]) {
      const signal = AbortSignal.abort(new RangeError("not this"));
      await assertDomError(request(connect(), reserved, never), "NotSupportedError");
      await assertDomError(request(connect(), reserved, { signal }, never), "NotSupportedError");
    }
    assertEquals(await request(connect(), `${name}-`, mode), "exclusive");
  },

  async "request() does not steal only if the lock is available"({ connect, name }) {
    const options = { steal: true, ifAvailable: true };
    await assertDomError(request(connect(), name, options, never), "NotSupportedError");
  },

  async "request() steals exclusively or not at all"({ connect, name }) {
    await assertDomError(request(connect(), name, { steal: true, mode: "shared" }, never), "NotSupportedError");
    assertEquals(await request(connect(), name, { steal: true, mode: "exclusive" }, mode), "exclusive");
  },

  async "request() takes no signal with steal or ifAvailable, aborted or not"({ connect, name }) {
    for (const signal of [new AbortController().signal, AbortSignal.abort(new RangeError("not this"))]) {
      await assertDomError(request(connect(), name, { steal: true, signal }, never), "NotSupportedError");
      await assertDomError(request(connect(), name, { ifAvailable: true, signal }, never), "NotSupportedError");
    }
  },

  async "request() rejects with the reason of a signal that has aborted before"({ connect, name }) {
    const locks = connect();
    const reason = { enough: true };
    assert(await failure(request(locks, name, { signal: AbortSignal.abort(reason) }, never)) === reason);
    await assertDomError(request(locks, name, { signal: AbortSignal.abort() }, never), "AbortError");
    assertEquals(await pending(locks, name), []);
  },

  async "request() converts the name to a string"({ connect, name }) {
    const object = { toString: () => name };
    assertEquals(await request(connect(), object, (lock: { name: string }) => lock.name), name);
    assertInstanceOf(await failure(request(connect(), Symbol(name), never)), TypeError);
  },
};
