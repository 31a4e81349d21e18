import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redlock } from "@holdfast/lock/redlock";
import { redis, type RedisOptions } from "@holdfast/lock/redis";
import { checkRedisOptions } from "../../../src/stores/redis/options.ts";
import { FakeClient } from "./fake_client.ts";

/** A client with the method that the option replicas needs, too. */
function client(): FakeClient {
  return Object.assign(new FakeClient(), { pipeline() {} });
}

Deno.test("redis() names the method that a client lacks", () => {
  for (const method of ["evalsha", "eval", "duplicate", "on"]) {
    for (const value of [undefined, "no function"]) {
      const broken = Object.assign(client(), { [method]: value });
      assertThrows(() => redis(broken.client), TypeError, `without ${method}()`);
    }
  }
  for (const none of [undefined, null, 5]) assertThrows(() => redis(none as never), TypeError, `got ${none}`);
  const bare = new FakeClient();
  assertThrows(() => redis(bare.client, { replicas: { min: 1 } }), TypeError, "pipeline");
});

Deno.test("redis() refuses options of the wrong kind, or out of range", () => {
  const wrong: [options: unknown, kind: typeof TypeError | typeof RangeError, words: string][] = [
    [{ prefix: 5 }, TypeError, "prefix"],
    [{ prefix: null }, TypeError, "prefix"],
    [{ observer: "no function" }, TypeError, "observer"],
    [{ Prefix: "lock:" }, TypeError, "Prefix"],
    [{ replicas: { min: "1" } }, TypeError, "replicas.min"],
    ...[undefined, null].map((min) => [{ replicas: { min } }, TypeError, "replicas.min"] as const),
    [{ replicas: {} }, TypeError, "replicas.min"],
    [{ replicas: 1 }, TypeError, "options"],
    [{ replicas: { min: 1, timeout: "1" } }, TypeError, "replicas.timeout"],
    ...[0, -1, 1.5, NaN, Infinity].map((min) => [{ replicas: { min } }, RangeError, "replicas.min"] as const),
    ...[0, 0.5, NaN, 2 ** 31].map((timeout) =>
      [{ replicas: { min: 1, timeout } }, RangeError, "replicas.timeout"] as const
    ),
    [{ replicas: { min: 1, timeOut: 1 } }, TypeError, "timeOut"],
  ] as [unknown, typeof TypeError, string][];
  for (const [options, kind, words] of wrong) {
    assertThrows(() => redis(client().client, options as RedisOptions), kind, words);
  }
});

Deno.test("checkRedisOptions() completes the options", () => {
  const check = (options: RedisOptions) => checkRedisOptions(client().client, options);
  assertEquals(check({}), { prefix: "lock:", observer: undefined, replicas: undefined });
  const observer = () => {};
  assertEquals(check({ prefix: "", observer }), { prefix: "", observer, replicas: undefined });
  assertEquals(check({ replicas: { min: 1 } }).replicas, { min: 1, timeout: 500 });
  assertEquals(check({ replicas: { min: 2, timeout: 10.5 } }).replicas, { min: 2, timeout: 11 });
  assertEquals(check({ replicas: { min: 3, timeout: 1 } }).replicas, { min: 3, timeout: 1 });
});

Deno.test("acquire() and all that takes a client refuse one of ioredis-mock at once", async () => {
  const mock = () => Object.assign(client(), { customCommand() {} }).client;
  for (const make of [redis, cohort]) assertThrows(() => make(mock()), TypeError, "got one of ioredis-mock");
  assertThrows(() => redlock([mock(), mock(), mock()]), TypeError, "memory() of @holdfast/lock/memory");
  for (const target of [mock(), [mock()]]) {
    await assertRejects(() => acquire(target, "a"), TypeError, "got one of ioredis-mock");
  }
});
