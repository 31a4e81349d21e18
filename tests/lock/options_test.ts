import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, type AcquireOptions, type LockTarget, tryAcquire, withLock } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { SystemClock } from "../../src/time/clock.ts";
import { describeProcess } from "../../src/internal/process/meta.ts";
import { checkAcquireOptions, checkName, checkTryAcquireOptions, type Settings } from "../../src/lock/options.ts";
import { ScriptedStore } from "../support/scripted_store.ts";
import { settled } from "../support/virtual_clock.ts";

type Refusal = typeof TypeError | typeof RangeError;

const TOO_LONG = 2 ** 31;

/** What is no name, the error, and what the message quotes. */
const badNames: [name: unknown, refusal: Refusal, quoted: string][] = [
  [undefined, TypeError, "missing"],
  [null, TypeError, "null"],
  [42, TypeError, "42"],
  [["a"], TypeError, "[object Array]. Pass several to acquireAll()"],
  ["", RangeError, '""'],
  ["a".repeat(1_025), RangeError, 'got 1025 in "aaa'],
  // Bytes count, not characters: these have 513, 342 and 514 units of UTF-16.
  ["é".repeat(513), RangeError, 'got 1026 in "ééé'],
  ["€".repeat(342), RangeError, 'got 1026 in "€€€'],
  ["😀".repeat(257), RangeError, 'got 1028 in "😀😀'],
  ["\ud800", TypeError, "\\ud800"],
  ["a\udc00b", TypeError, "\\udc00"],
];

/** Durations that are wrong wherever a duration is asked for. */
const badDurations: [value: unknown, refusal: Refusal, quoted: string][] = [
  [NaN, RangeError, "NaN"],
  [-1, RangeError, "-1"],
  [-Infinity, RangeError, "-Infinity"],
  [TOO_LONG, RangeError, "2147483648"],
  ["30", TypeError, '"30"'],
  [30n, TypeError, "30"],
  [null, TypeError, "null"],
  [{}, TypeError, "[object Object]"],
];

/** And those that are wrong because the store and its timers count in milliseconds. */
const tooShort: [value: unknown, refusal: Refusal, quoted: string][] = [
  [0, RangeError, "0"],
  [9, RangeError, "9"],
  [9.99, RangeError, "9.99"],
  [Infinity, RangeError, "Infinity"],
];

/** Wrong options of both functions, the error, and what the message names and quotes. */
const badOptions: [options: unknown, refusal: Refusal, named: string, quoted: string][] = [
  ...[...badDurations, ...tooShort].map(([lease, ...rest]) => naming({ lease }, "lease", ...rest)),
  ...[...badDurations, ...tooShort].map(([renew, ...rest]) => naming({ renew }, "renew", ...rest)),
  [{ renew: 30_000 }, RangeError, "renew", "30000"],
  [{ lease: 50, renew: 50 }, RangeError, "renew", "50"],
  [{ lease: 50, renew: 51 }, RangeError, "lease of 50", "51"],
  [{ renew: "true" }, TypeError, "renew", '"true"'],
  ...badDurations.map(([atLeast, ...rest]) => naming({ atLeast }, "atLeast", ...rest)),
  naming({ atLeast: Infinity }, "atLeast", RangeError, "Infinity"),
  [{ signal: null }, TypeError, "signal", "null"],
  [{ signal: "soon" }, TypeError, "signal", '"soon"'],
  [{ signal: {} }, TypeError, "signal", "[object Object]"],
  [{ signal: { aborted: false, addEventListener: () => {} } }, TypeError, "signal", "[object Object]"],
  [{ signal: new AbortController() }, TypeError, "signal", "AbortController"],
  [{ mode: "upgradable" }, TypeError, "mode", '"upgradable"'],
  [{ mode: "" }, TypeError, "mode", '""'],
  [{ mode: null }, TypeError, "mode", "null"],
  [{ permits: "3" }, TypeError, "permits", '"3"'],
  [{ permits: 0 }, RangeError, "permits", "0"],
  [{ permits: 1.5 }, RangeError, "permits", "1.5"],
  [{ permits: NaN }, RangeError, "permits", "NaN"],
  [{ permits: 2 ** 31 }, RangeError, "permits", "2147483648"],
  [{ permits: 2, mode: "shared" }, TypeError, "permits", "2"],
  [{ owner: 7 }, TypeError, "owner", "7"],
  [{ owner: "" }, RangeError, "owner", '""'],
  [{ owner: ":me" }, RangeError, "owner", '":me"'],
  [{ owner: "x".repeat(1_025) }, RangeError, "owner", 'got 1025 in "xxx'],
  [{ owner: "\ud800" }, TypeError, "owner", "\\ud800"],
  [{ steal: 1 }, TypeError, "steal", "1"],
  [{ steal: true, mode: "shared" }, TypeError, "steal", "true"],
  [{ steal: true, permits: 2 }, TypeError, "steal", "true"],
  [{ strict: "yes" }, TypeError, "strict", '"yes"'],
  [{ strict: 0 }, TypeError, "strict", "0"],
  [{ strict: null }, TypeError, "strict", "null"],
  [{ meta: true }, TypeError, "meta", "true"],
  [{ meta: null }, TypeError, "meta", "null"],
  [{ meta: "job" }, TypeError, "meta", '"job"'],
  [{ meta: ["job"] }, TypeError, "meta", "[object Array]"],
  [{ meta: new Map([["job", "7"]]) }, TypeError, "meta", "[object Map]"],
  [{ meta: { job: 7 } }, TypeError, "meta.job", "7"],
  [{ meta: { job: undefined } }, TypeError, "meta.job", "undefined"],
  [{ meta: { job: { id: "7" } } }, TypeError, "meta.job", "[object Object]"],
  [{ meta: { job: "\ud800" } }, TypeError, "meta.job", "\\ud800"],
  [{ meta: { "\udc00": "7" } }, TypeError, "meta", "7"],
  [{ meta: { job: "x".repeat(1_025) } }, RangeError, "meta", "1024 bytes"],
  [{ timeout: 5 }, TypeError, "unknown option", '"timeout"'],
  [{ Lease: 50 }, TypeError, "unknown option", '"Lease"'],
  [null, TypeError, "options", "null"],
  [5_000, TypeError, "options", "5000"],
  ["wait", TypeError, "options", '"wait"'],
  [() => {}, TypeError, "options", "=>"],
  [[], TypeError, "options", "[object Array]"],
  [new Map([["wait", 5]]), TypeError, "options", "[object Map]"],
  [AbortSignal.abort(), TypeError, "options", "[object AbortSignal]"],
];

/** What is no target, and what the message quotes. */
const badTargets: [target: unknown, quoted: string][] = [
  [undefined, "undefined"],
  [null, "null"],
  ["redis://localhost", '"redis://localhost"'],
  [{}, "an empty object"],
  [() => {}, "a function"],
  [client("duplicate"), "without duplicate()"],
  [client("on"), "without on()"],
  [{ attempt: () => {}, release: () => {}, drift: () => 0 }, "without renew()"],
];

Deno.test("acquire() and tryAcquire() refuse invalid names, and send nothing", async () => {
  for (const [name, refusal, quoted] of badNames) {
    await refuses((store) => acquire(store, name as string), refusal, "name", quoted);
    await refuses((store) => tryAcquire(store, name as string), refusal, "name", quoted);
  }
});

Deno.test("acquire() and tryAcquire() refuse bad options, and send nothing", async () => {
  for (const [options, refusal, named, quoted] of badOptions) {
    await refuses((store) => acquire(store, "a", options as AcquireOptions), refusal, named, quoted);
    await refuses((store) => tryAcquire(store, "a", options as AcquireOptions), refusal, named, quoted);
  }
});

Deno.test("acquire() and tryAcquire() take options that are inherited, too", async () => {
  class Options {
    get lease(): number {
      return 1_000;
    }
    get mode(): "shared" {
      return "shared";
    }
  }
  for (const take of [acquire, tryAcquire]) {
    const store = Object.assign(new ScriptedStore(new SystemClock()), { capabilities: ["shared"] as const });
    await using lock = await take(store, "a", new Options());
    assertEquals([lock?.mode, store.calls[0]?.claim.lease], ["shared", 1_000]);
  }
});

Deno.test("acquire() without a name says that the name is missing", async () => {
  const take: ((...args: unknown[]) => Promise<unknown>)[] = [acquire, tryAcquire, withLock] as never;
  for (const call of take) {
    for (const args of [["a"], [memory()], [], ["a", () => {}], [memory(), () => {}, {}]]) {
      const error = await assertRejects(() => call(...args), TypeError, "name is missing");
      assert(error.message.endsWith('as in acquire(store, "invoice:42")'), error.message);
    }
  }
});

Deno.test("acquire() and tryAcquire() translate the options of other libraries", async () => {
  const meant: Record<string, readonly string[]> = {
    "lease": ["lockAtMostFor", "ttl", "expiry", "expires", "expiresIn", "duration", "lockTimeout", "LEASE"],
    "atLeast": ["lockAtLeastFor", "atLeastFor"],
    "wait": ["timeout", "acquireTimeout", "retries", "retryCount", "retryDelay", "retryInterval", "maxAttempts"],
    "renew": ["refreshInterval", "interval", "autoExtend", "automaticExtensionThreshold"],
    "permits": ["limit", "maxConcurrency", "count"],
    "mode": ["shared"],
    "owner": ["token", "identifier", "value", "reentrant"],
    "steal": ["force"],
  };
  for (const [option, others] of Object.entries(meant)) {
    for (const other of others) {
      const given = { [other]: 5 } as AcquireOptions;
      const words = `unknown option "${other}": use ${option}; known are lease`;
      await refuses((store) => acquire(store, "a", given), TypeError, other, words);
      const tried = option === "wait" ? words.replace("use", "use acquire() with") : words;
      await refuses((store) => tryAcquire(store, "a", given), TypeError, other, tried);
    }
  }
  const words = 'unknown option "colour": known are lease';
  await refuses((store) => acquire(store, "a", { colour: 5 } as AcquireOptions), TypeError, "colour", words);
});

Deno.test("acquire() and tryAcquire() of a function name withLock()", async () => {
  for (const body of [() => {}, async () => {}, function run() {}]) {
    for (const take of [acquire, tryAcquire]) {
      await refuses((store) => take(store, "a", body as AcquireOptions), TypeError, "options", "withLock()");
    }
  }
});

Deno.test("acquire() refuses a bad wait, and sends nothing", async () => {
  for (const [wait, refusal, quoted] of badDurations) {
    await refuses((store) => acquire(store, "a", { wait } as AcquireOptions), refusal, "wait", quoted);
  }
});

Deno.test("tryAcquire() does not know wait", async () => {
  await refuses(
    (store) => tryAcquire(store, "a", { wait: 5 } as AcquireOptions),
    TypeError,
    "unknown option",
    '"wait"',
  );
});

Deno.test("acquire() and tryAcquire() refuse what is neither a store nor a client", async () => {
  for (const [target, quoted] of badTargets) {
    for (const take of [acquire, tryAcquire]) {
      const error = await assertRejects(() => take(target as LockTarget, "a"), TypeError, "got");
      assert(error.message.includes("store") && error.message.includes(quoted), error.message);
    }
  }
});

Deno.test("acquire() and tryAcquire() with an aborted signal send nothing", async () => {
  const reason = new Error("enough");
  for (const given of [reason, "enough", null, 0]) {
    for (const take of [acquire, tryAcquire]) {
      const store = new ScriptedStore(new SystemClock());
      let rejected: unknown = "with nothing";
      take(store, "a", { signal: AbortSignal.abort(given) }).catch((error: unknown) => rejected = error);
      await settled();
      assertEquals(rejected, given);
      assertEquals(store.calls, []);
    }
  }
  const store = new ScriptedStore(new SystemClock());
  const error = await assertRejects(() => acquire(store, "a", { signal: AbortSignal.abort() }), DOMException);
  assertEquals(error.name, "AbortError");
});

Deno.test("checkName() takes every name of 1 to 1,024 bytes", () => {
  for (const name of ["a", " ", "{}", "a:b{c}", "\u0000", "a".repeat(1_024), "é".repeat(512), "😀".repeat(256)]) {
    checkName(name);
  }
});

Deno.test("checkAcquireOptions() fills in the defaults, and takes undefined for them", () => {
  const defaults: Settings = {
    lease: 30_000,
    atLeast: 0,
    interval: 10_000,
    autoInterval: true,
    wait: Infinity,
    signal: undefined,
    mode: "exclusive",
    permits: undefined,
    owner: undefined,
    client: undefined,
    steal: false,
    strict: true,
    meta: JSON.stringify(describeProcess()),
    needs: [],
  };
  assertEquals(checkAcquireOptions(), defaults);
  assertEquals(checkAcquireOptions({}), defaults);
  const some = { lease: undefined, renew: undefined, signal: undefined };
  const absent = { ...some, mode: undefined, strict: undefined, meta: undefined };
  assertEquals(checkAcquireOptions({ ...absent, wait: undefined }), defaults);
  assertEquals(checkTryAcquireOptions(absent), { ...defaults, wait: 0 });
});

Deno.test("checkAcquireOptions() takes the least and the largest of everything", () => {
  const { signal } = new AbortController();
  for (const lease of [10, 10.5, TOO_LONG - 1]) assertEquals(checkAcquireOptions({ lease }).lease, lease);
  for (const atLeast of [0, 0.5, TOO_LONG - 1]) assertEquals(checkAcquireOptions({ atLeast }).atLeast, atLeast);
  for (const wait of [0, 0.5, TOO_LONG - 1, Infinity]) assertEquals(checkAcquireOptions({ wait }).wait, wait);
  assertEquals(checkAcquireOptions({ lease: 10.5, renew: 10 }).interval, 10);
  assertEquals(checkAcquireOptions({ lease: TOO_LONG - 1, renew: TOO_LONG - 2 }).interval, TOO_LONG - 2);
  assertEquals(checkAcquireOptions({ renew: false }).interval, Infinity);
  assertEquals(checkAcquireOptions({ lease: 90, renew: true }).interval, 30);
  assertEquals(checkAcquireOptions({ signal, strict: false, mode: "exclusive" }).signal, signal);
});

/** The promise rejects, as against the function throwing; the message names the option and quotes the value. */
async function refuses(
  take: (store: ScriptedStore) => Promise<unknown>,
  refusal: Refusal,
  named: string,
  quoted: string,
): Promise<void> {
  const store = new ScriptedStore(new SystemClock());
  const error = await take(store).then(() => new Error("nothing was refused"), (error: unknown) => error);
  assertInstanceOf(error, refusal, `${named} ${quoted}: ${error}`);
  const { message } = error as Error;
  assert(message.includes(named) && message.includes(quoted), `${named} and ${quoted} in: ${message}`);
  assertEquals(store.calls, []);
}

function naming(options: unknown, named: string, refusal: Refusal, quoted: string): (typeof badOptions)[number] {
  return [options, refusal, named, quoted];
}

/** The shape of a Redis client, but for one method. */
function client(lacking: string): Record<string, unknown> {
  const methods = ["evalsha", "eval", "duplicate", "on"].filter((method) => method !== lacking);
  return Object.fromEntries(methods.map((method) => [method, () => {}]));
}
