import { assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { TcpProxy } from "../../../tests/support/tcp_proxy.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";

/** How much later than it was sent each command arrives, in milliseconds, in the tests of the drop-ins. */
export const TRIPS = [0, 2, 60, 300];

/** Servers that are far away from their clients. */
export interface FarPlace extends AsyncDisposable {
  /** Makes clients of the servers, which begin to connect. */
  connect(): Redis[];
  /** Clients that are near: what they ask is not delayed. */
  readonly near: readonly Redis[];
  /** Resolves to whether more than half of the servers have these keys. */
  held(...keys: string[]): Promise<boolean>;
  /** Resolves once each server has these keys: a lock is granted before the last one has voted. */
  everywhere(...keys: string[]): Promise<void>;
  /** Resolves once no server has these keys. */
  free(...keys: string[]): Promise<void>;
  /** Removes a key from all servers. */
  remove(key: string): Promise<void>;
}

/** Starts servers behind proxies that deliver each command late. */
export async function farPlace(count: number, trip: number): Promise<FarPlace> {
  const servers = await Promise.all(Array.from({ length: count }, () => RedisServer.start()));
  const proxies = await Promise.all(servers.map(({ port }) => TcpProxy.start(port)));
  if (trip > 0) { for (const proxy of proxies) proxy.disturb({ requests: trip }); }
  const near = servers.map((server) => server.connect());
  return {
    connect: () => proxies.map((proxy) => proxy.connect()),
    near,
    async held(...keys) {
      const found = await Promise.all(near.map((client) => client.exists(...keys)));
      return found.filter((n) => n === keys.length).length > count / 2;
    },
    async everywhere(...keys) {
      const found = () => Promise.all(near.map((client) => client.exists(...keys)));
      const isHeld = async () => (await found()).every((n) => n === keys.length);
      await until(isHeld, `${keys} are on each server`, HANG_MS);
    },
    async free(...keys) {
      const isFree = async () =>
        (await Promise.all(near.map((client) => client.exists(...keys)))).every((n) => n === 0);
      await until(isFree, `${keys} are free`, HANG_MS);
    },
    async remove(key) {
      await Promise.all(near.map((client) => client.del(key)));
    },
    async [Symbol.asyncDispose]() {
      const left = async () => (await Promise.all(servers.map((server) => server.leftovers()))).flat();
      await until(async () => (await left()).length === 0, "nothing is left", HANG_MS).catch(() => {});
      const found = await left();
      for (const each of [...proxies, ...servers]) await each[Symbol.asyncDispose]();
      assertEquals(found, []);
    },
  };
}

/** Plays each statement with the original and with the drop-in at the same time: both must end in the same way. */
export async function playAll<Library>(
  statements: Readonly<Record<string, (library: Library, name: string, at: FarPlace) => Promise<unknown>>>,
  [original, dropIn]: readonly [Library, Library],
  at: FarPlace,
): Promise<void> {
  const played = Object.entries(statements).map(async ([statement, play], i) => {
    const ends = [play(original, `old${i}`, at), play(dropIn, `new${i}`, at)].map(async (playing) => {
      return await playing.catch((error) => `${error}`);
    });
    const [theirs, ours] = await Promise.all(ends);
    assertEquals(ours, theirs, `${statement}: ${JSON.stringify(ours)} instead of ${JSON.stringify(theirs)}`);
    return [statement, ours] as const;
  });
  for (const [statement, end] of await Promise.all(played)) {
    assertEquals(typeof end, "object", `${statement}: both fail with ${end}`);
  }
}

/** Returns the name of the error that a promise rejects with; `"none"` if it resolves. */
export async function failureOf(promise: Promise<unknown>): Promise<string> {
  return await promise.then(() => "none", (error: Error) => error.name);
}
