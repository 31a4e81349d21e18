import { assertEquals } from "@std/assert";
import { type LockEvent, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { clientWarning } from "../../../../../src/stores/redis/clients/ioredis/client_warning.ts";
import type { IoredisClient } from "../../../../../src/stores/redis/clients/client.ts";
import { warningsOf } from "../../../../support/warnings.ts";
import { testOnServer } from "../../on_server.ts";

/** A client with these options. */
function client(options: Record<string, unknown>, isCluster = false): IoredisClient {
  return { options, isCluster } as unknown as IoredisClient;
}

const SENTINEL = { sentinels: [{ host: "a" }], socketTimeout: 2_000, sentinelCommandTimeout: 1_000 };

Deno.test("clientWarning() names the options that hide failures, and only those", () => {
  const good = [
    client({}),
    client({ sentinels: null, maxRetriesPerRequest: 20 }),
    client({ maxRetriesPerRequest: null, enableOfflineQueue: false }),
    client(SENTINEL),
    client({ ...SENTINEL, socketTimeout: undefined, failoverDetector: true }),
    client({ redisOptions: { socketTimeout: 2_000 } }, true),
    client({ slotsRefreshInterval: 1_000 }, true),
    {} as IoredisClient,
  ];
  assertEquals(good.map(clientWarning), good.map(() => undefined));
  const bad: [IoredisClient, RegExp][] = [
    [client({ maxRetriesPerRequest: null }), /: with maxRetriesPerRequest: null [^;]*$/],
    [client({ ...SENTINEL, socketTimeout: undefined }), /: without socketTimeout or failoverDetector [^;]*$/],
    [client({ ...SENTINEL, sentinelCommandTimeout: undefined }), /: without sentinelCommandTimeout [^;]*$/],
    [client({ ...SENTINEL, enableReadyCheck: false }), /: with enableReadyCheck: false [^;]*$/],
    [client({ sentinels: [{ host: "a" }] }), /: without socketTimeout [^;]*; without sentinelCommandTimeout [^;]*$/],
    [client({}, true), /: without redisOptions.socketTimeout [^;]*$/],
    [client({ redisOptions: {} }, true), /: without redisOptions.socketTimeout [^;]*$/],
  ];
  const missing = bad.filter(([client, words]) => !words.test(clientWarning(client) ?? "")).map(([, words]) => words);
  assertEquals(missing, []);
});

testOnServer("redis() warns its observer once of client options that hide failures", async ({ server }) => {
  for (const [options, warnings] of [[{ maxRetriesPerRequest: null }, 1], [{}, 0]] as const) {
    const events: LockEvent[] = [];
    const store = redis(server.connect(options), { observer: (event) => events.push(event) });
    assertEquals(events, []);
    for (const name of ["a", "b"]) await (await tryAcquire(store, name))!.release();
    assertEquals(events.filter(({ type }) => type === "warning").length, warnings);
    assertEquals(events.findIndex(({ type }) => type === "warning"), warnings - 1, "before anything else");
  }
});

testOnServer("redis() without an observer warns the process, once for each message", async ({ server }) => {
  const warnings = await warningsOf(async () => {
    for (let i = 0; i < 2; i++) {
      const client = server.connect({ maxRetriesPerRequest: null });
      for (const name of ["a", "b"]) await (await tryAcquire(client, name))!.release();
    }
  });
  assertEquals(warnings.map((message) => /with maxRetriesPerRequest: null/.test(message)), [true]);
});
