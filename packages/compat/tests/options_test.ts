import { assertEquals, assertThrows } from "@std/assert";
import { RedlockEmitter } from "@holdfast/compat/redlock";
import { type SemaphoreTimeouts, settingsOf } from "../src/redis_semaphore/options.ts";
import type { AttemptLimits } from "../src/limited_store.ts";
import { checkSettings, limitsOf, type RedlockCompatSettings } from "../src/redlock/settings.ts";

Deno.test("settingsOf() of redis-semaphore has its limits and its defaults", () => {
  const cases: [SemaphoreTimeouts, Partial<AttemptLimits>][] = [
    [{}, { attempts: Infinity, pause: 10, time: 10_000 }],
    [{ acquireTimeout: 500 }, { time: 500 }],
    [{ acquireTimeout: Infinity }, { time: Infinity }],
    [{ acquireAttemptsLimit: 3, retryInterval: 100 }, { attempts: 3, pause: 100 }],
  ];
  for (const [options, limits] of cases) {
    const found = settingsOf(options).limits;
    assertEquals({ ...found, ...limits }, found, JSON.stringify(options));
  }
});

Deno.test("settingsOf() renews in thirds of the lease, at an interval, or never", () => {
  assertEquals(settingsOf({}).hold, { lease: 10_000, renew: true });
  assertEquals(settingsOf({ lockTimeout: 900, refreshInterval: 0 }).hold, { lease: 900, renew: false });
  assertEquals(settingsOf({ lockTimeout: 900, refreshInterval: 50 }).hold, { lease: 900, renew: 50 });
});

Deno.test("limitsOf() counts the retries of redlock and one attempt", () => {
  const cases: [Partial<RedlockCompatSettings>, number, number][] = [
    [{}, 11, 200],
    [{ retryCount: 0 }, 1, 200],
    [{ retryCount: 3, retryDelay: 50 }, 4, 50],
    [{ retryCount: 3, retryDelay: -1 }, 4, 0],
    [{ retryCount: -1 }, Infinity, 200],
    [{ retryCount: -5 }, 1, 200],
    [{ retryCount: Infinity, retryDelay: 0 }, Infinity, 0],
  ];
  for (const [settings, ...expected] of cases) {
    const { attempts, pause, time } = limitsOf(checkSettings(settings), () => {});
    assertEquals([attempts, pause, time], [...expected, Infinity], JSON.stringify(settings));
  }
});

Deno.test("checkSettings() takes nodeTimeout for the constructor only", () => {
  const own = checkSettings({ nodeTimeout: 700 });
  assertEquals(own.nodeTimeout, 700);
  assertEquals(checkSettings({ ...own, retryCount: 0 }, own).nodeTimeout, 700);
  assertThrows(
    () => checkSettings({ nodeTimeout: 800 }, own),
    TypeError,
    "nodeTimeout must be given to the constructor",
  );
  assertThrows(() => checkSettings({ nodeTimeout: 0 }), RangeError, "nodeTimeout");
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

Deno.test("checkSettings() and settingsOf() throw for an option that they do not know", () => {
  assertThrows(() => checkSettings({ retrycount: 3 } as never), TypeError, "retrycount");
  assertThrows(() => settingsOf({ locktimeout: 900 } as never), TypeError, "locktimeout");
});
