import { assertEquals, assertThrows } from "@std/assert";
import { RedlockEmitter } from "@holdfast/lock/compat/redlock";
import { acquireOptionsOf, type SemaphoreTimeouts } from "../../src/compat/redis_semaphore/options.ts";
import { checkSettings, type RedlockCompatSettings, waitOf } from "../../src/compat/redlock/settings.ts";

Deno.test("acquireOptionsOf() waits as long as the attempts take, if that is shorter", () => {
  const cases: [SemaphoreTimeouts, number][] = [
    [{}, 10_000],
    [{ acquireTimeout: 500 }, 500],
    [{ acquireTimeout: Infinity }, Infinity],
    [{ acquireAttemptsLimit: 0 }, 0],
    [{ acquireAttemptsLimit: 1 }, 0],
    [{ acquireAttemptsLimit: 3 }, 20],
    [{ acquireAttemptsLimit: 3, retryInterval: 100 }, 200],
    [{ acquireAttemptsLimit: 3, retryInterval: 100, acquireTimeout: 50 }, 50],
    [{ acquireAttemptsLimit: Infinity, retryInterval: 0 }, 10_000],
  ];
  for (const [options, wait] of cases) assertEquals(acquireOptionsOf(options).wait, wait, JSON.stringify(options));
});

Deno.test("acquireOptionsOf() renews in thirds of the lease, at an interval, or never", () => {
  assertEquals(acquireOptionsOf({}), { lease: 10_000, renew: true, wait: 10_000 });
  assertEquals(acquireOptionsOf({ lockTimeout: 900, refreshInterval: 0 }).renew, false);
  assertEquals(acquireOptionsOf({ lockTimeout: 900, refreshInterval: 50 }), { lease: 900, renew: 50, wait: 10_000 });
});

Deno.test("waitOf() is as long as the retries of redlock take", () => {
  const cases: [Partial<RedlockCompatSettings>, number][] = [
    [{}, 2_000],
    [{ retryCount: 0 }, 0],
    [{ retryCount: 3, retryDelay: 50 }, 150],
    [{ retryCount: 3, retryDelay: 0 }, 3],
    [{ retryCount: -1 }, Infinity],
    [{ retryCount: Infinity, retryDelay: 0 }, Infinity],
    [{ retryCount: 1e9 }, Infinity],
  ];
  for (const [settings, wait] of cases) assertEquals(waitOf(checkSettings(settings)), wait, JSON.stringify(settings));
});

Deno.test("checkSettings() completes what is given, and throws for what is no number", () => {
  const { retryCount, retryDelay } = checkSettings({ retryCount: 3, retryDelay: undefined as never });
  assertEquals([retryCount, retryDelay], [3, 200]);
  for (const wrong of ["3", NaN, null]) {
    assertThrows(() => checkSettings({ retryCount: wrong as never }), TypeError, "retryCount must be a number");
  }
});

Deno.test("RedlockEmitter.off() removes the last of a listener of one event", () => {
  const emitter = new RedlockEmitter();
  const calls: string[] = [];
  const [a, b] = [() => void calls.push("a"), () => void calls.push("b")];
  emitter.on("error", a).on("clientError", a).on("clientError", b).once("error", b).addListener("error", a);
  assertEquals([emitter.listenerCount("error"), emitter.listenerCount("clientError")], [3, 2]);
  emitter.off("error", a).removeListener("clientError", b).off("clientError", b);
  assertEquals([emitter.emit("error", new Error()), emitter.emit("clientError", new Error())], [true, true]);
  assertEquals(calls, ["a", "b", "a"]);
  assertEquals([emitter.listenerCount("error"), emitter.listenerCount("clientError")], [1, 1]);
  emitter.off("error", a);
  assertEquals(emitter.emit("error", new Error()), false);
});

Deno.test("RedlockEmitter.once() leaves a listener that was also added with on()", () => {
  const emitter = new RedlockEmitter();
  let calls = 0;
  const listener = () => calls++;
  emitter.once("error", listener).on("error", listener);
  for (const expected of [2, 3, 4]) {
    emitter.emit("error", new Error());
    assertEquals(calls, expected);
  }
});
