// Deno only: it starts servers.
import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { LockTimeoutError, QuorumError } from "@holdfast/lock";
import {
  defaultTimeoutOptions,
  LostLockError,
  Mutex,
  RedlockMutex,
  Semaphore,
  type SemaphoreLock,
  TimeoutError,
} from "@holdfast/compat/redis-semaphore";
import process from "node:process";
import { replayed } from "../../../tests/support/replayed.ts";
import { until } from "../../../tests/support/until.ts";
import { type Place, place } from "./place.ts";

/** Longer than any test. */
const LONG = 600_000;

/** What a machine does not end, however slow it is. */
const PATIENT = { lockTimeout: LONG, acquireTimeout: LONG };

/** One attempt: a loaded machine may not answer in a short time. */
const BRIEF = { lockTimeout: LONG, acquireAttemptsLimit: 1 };

/** The options of any of the classes. */
type Options = ConstructorParameters<typeof Mutex>[2];

const KINDS: Readonly<Record<string, [servers: number, make: (at: Place, options?: Options) => SemaphoreLock]>> = {
  Mutex: [1, (at, options) => new Mutex(at.clients[0]!, "a", options)],
  RedlockMutex: [3, (at, options) => new RedlockMutex(at.clients, "a", options as object)],
  Semaphore: [1, (at, options) => new Semaphore(at.clients[0]!, "a", 1, options as object)],
};

for (const [kind, [servers, make]] of Object.entries(KINDS)) {
  Deno.test(`${kind}.acquire() and release() hold the lock, one time after the other`, async () => {
    await using at = await place(servers);
    // A server to which the last release went late, as it did not know the script, refuses the next acquire. It has the
    // lock from the first renewal on.
    const lock = make(at, { ...PATIENT, refreshInterval: 1_000 });
    assertEquals([lock.isAcquired, lock.identifier, lock.fence, lock.signal], [false, "", undefined, undefined]);
    let fence = 0n;
    for (let cycle = 0; cycle < 3; cycle++) {
      await lock.acquire();
      assert(lock.isAcquired && lock.fence! > fence && !lock.signal!.aborted);
      fence = lock.fence!;
      if (kind !== "Semaphore") await at.has("mutex:a", lock.identifier);
      const { identifier } = lock;
      await lock.release();
      // Of the lock that was held last.
      assertEquals([lock.isAcquired, lock.identifier, lock.fence], [false, identifier, fence]);
    }
  });

  Deno.test(`${kind}.acquire() rejects, and tryAcquire() gives false, when it is busy`, async () => {
    await using at = await place(servers);
    const [first, second] = [make(at, PATIENT), make(at, { ...PATIENT, acquireTimeout: 1_000 })];
    assert(await first.tryAcquire());
    assert(!await second.tryAcquire());
    const error = await assertRejects(() => second.acquire(), TimeoutError);
    assertInstanceOf(error.cause, LockTimeoutError);
    await first.release();
    const third = make(at, PATIENT);
    assert(await third.tryAcquire());
    await third.release();
  });

  Deno.test(`${kind} is renewed until it is released`, async () => {
    await using at = await place(servers);
    const lock = make(at, { lockTimeout: 4_000, refreshInterval: 200, acquireTimeout: LONG, onLockLost: () => {} });
    // A slow machine may hold up the renewals for as long as the lease.
    await replayed(async () => {
      await lock.acquire();
      await new Promise((resolve) => setTimeout(resolve, 4_500));
      const isRenewed = lock.isAcquired;
      await lock.release();
      return isRenewed ? undefined : "it was not renewed";
    }, 5);
  });

  Deno.test(`${kind}.stopRefresh() lets the lock end with its lease`, async () => {
    await using at = await place(servers);
    // A slow machine may notice the end of the lease before stopRefresh() acts: that is a loss.
    const options = { lockTimeout: 1_000, acquireTimeout: LONG, onLockLost: () => {} };
    const [first, second] = [make(at, options), make(at, PATIENT)];
    first.stopRefresh();
    await first.acquire();
    first.stopRefresh();
    await second.acquire();
    assert(!first.isAcquired && second.fence! > first.fence!);
    await second.release();
    await first.release();
  });

  Deno.test(`${kind} calls onLockLost on itself, once the lock is lost`, async () => {
    await using at = await place(servers);
    const lost: [unknown, boolean, unknown][] = [];
    const lock = make(at, {
      lockTimeout: 600,
      refreshInterval: 50,
      acquireTimeout: LONG,
      onLockLost(error) {
        lost.push([this, (this as SemaphoreLock).isAcquired, error]);
      },
    });
    await lock.acquire();
    await Promise.all(at.clients.map((client) => client.flushall()));
    await until(() => lost.length > 0, "the loss is told");
    assertEquals(lost.map(([self, acquired]) => [self === lock, acquired]), [[true, false]]);
    assertInstanceOf(lost[0]![2], LostLockError);
    await lock.release();
  });
}

Deno.test("Mutex.acquire() ends its wait when its signal aborts", async () => {
  await using at = await place();
  const [first, second] = [new Mutex(at.clients[0]!, "a", PATIENT), new Mutex(at.clients[0]!, "a", PATIENT)];
  await first.acquire();
  const controller = new AbortController();
  const waiting = second.tryAcquire(controller.signal);
  await until(async () => await at.clients[0]!.zcard("{mutex:a}:queue") === 1, "it waits");
  controller.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
  await first.release();
});

Deno.test("Mutex without onLockLost warns of a loss, once, and goes on", async () => {
  await using at = await place();
  const warnings: string[] = [];
  const listener = ({ name, message }: Error) => void (name === "HoldfastWarning" && warnings.push(message));
  process.on("warning", listener);
  try {
    for (const key of ["a", "b"]) {
      const mutex = new Mutex(at.clients[0]!, key, { lockTimeout: 300 });
      await mutex.acquire();
      await at.clients[0]!.del(`mutex:${key}`);
      await until(() => mutex.signal!.aborted, "the lock is lost");
      await mutex.release();
    }
    await until(() => warnings.length > 0, "the warning has come");
    assertEquals(warnings.map((each) => each.includes("onLockLost")), [true]);
  } finally {
    process.off("warning", listener);
  }
});

for (const [how, onLockLost] of [["throws", () => thrown()], ["rejects", async () => await thrown()]] as const) {
  Deno.test(`Mutex survives an onLockLost that ${how}`, async () => {
    await using at = await place();
    let calls = 0;
    const mutex = new Mutex(at.clients[0]!, "a", {
      lockTimeout: 300,
      onLockLost() {
        calls++;
        return onLockLost();
      },
    });
    await mutex.acquire();
    await at.clients[0]!.del("mutex:a");
    await until(() => calls === 1, "the loss is told");
    // What it throws would end this process in a later turn.
    await at.clients[0]!.ping();
    await mutex.release();
  });
}

function thrown(): never {
  throw new Error("of the callback");
}

Deno.test("Mutex.release() tells no loss while a renewal is in flight", async () => {
  await using at = await place();
  const lost: Error[] = [];
  const options = { lockTimeout: LONG, refreshInterval: 10, onLockLost: (error: Error) => void lost.push(error) };
  for (let i = 0; i < 50; i++) {
    const mutex = new Mutex(at.clients[0]!, "a", options);
    await mutex.acquire();
    await new Promise((resolve) => setTimeout(resolve, 9 + i % 3));
    await mutex.release();
  }
  assertEquals(lost, []);
});

Deno.test("Semaphore grants its limit, and no more", async () => {
  await using at = await place();
  const locks = Array.from({ length: 4 }, () => new Semaphore(at.clients[0]!, "a", 3));
  assertEquals(await Promise.all(locks.slice(0, 3).map((lock) => lock.tryAcquire())), [true, true, true]);
  assert(!await new Semaphore(at.clients[0]!, "a", 3, BRIEF).tryAcquire());
  await locks[0]!.release();
  assert(await locks[3]!.tryAcquire());
  for (const lock of locks) await lock.release();
});

Deno.test("Semaphore that tasks share has a permit for each acquire(), until a release()", async () => {
  await using at = await place();
  const [shared, other] = [new Semaphore(at.clients[0]!, "a", 3), new Semaphore(at.clients[0]!, "a", 3, BRIEF)];
  for (let i = 0; i < 3; i++) await shared.acquire();
  assert(!await other.tryAcquire());
  for (let i = 0; i < 3; i++) {
    await shared.release();
    assert(await other.tryAcquire());
  }
  assert(!shared.isAcquired);
  for (let i = 0; i < 3; i++) await other.release();
});

Deno.test("Semaphore that tasks share releases the lock that was acquired last", async () => {
  await using at = await place();
  const shared = new Semaphore(at.clients[0]!, "a", 2);
  await shared.acquire();
  const first = [shared.identifier, shared.fence];
  await shared.acquire();
  await shared.release();
  assertEquals([shared.identifier, shared.fence, shared.isAcquired], [...first, true]);
  await shared.release();
});

Deno.test("RedlockMutex has a nodeTimeout of its own, and counts silence as a refusal", async () => {
  await using at = await place(3);
  const usual = new RedlockMutex(at.clients, "a");
  const brief = new RedlockMutex(at.clients, "a", { ...BRIEF, acquireAttemptsLimit: 2, nodeTimeout: 50 });
  await usual.acquire();
  // On each server, or the last one would still be silent when the lock is released there.
  await at.has("mutex:a", usual.identifier);
  await usual.release();
  for (const client of at.clients) client.evalsha = () => new Promise(() => {});
  const error = await assertRejects(() => brief.acquire(), TimeoutError, "no answer within 50 ms");
  assertInstanceOf(error.cause, QuorumError);
  assert(!await brief.tryAcquire());
  for (const client of at.clients) Reflect.deleteProperty(client, "evalsha");
  for (const clients of [at.clients, at.clients.slice(2)]) {
    assertThrows(() => new RedlockMutex(clients, "a", { nodeTimeout: 0 }), RangeError, "nodeTimeout");
  }
});

Deno.test("Mutex and Semaphore of one client and key do not exclude each other", async () => {
  await using at = await place();
  await using mutex = new Mutex(at.clients[0]!, "a");
  await using semaphore = new Semaphore(at.clients[0]!, "a", 1, BRIEF);
  await mutex.acquire();
  assert(await semaphore.tryAcquire());
});

Deno.test("RedlockMutex goes by the clients that it was given", async () => {
  await using at = await place(3);
  const clients = [...at.clients];
  const first = new RedlockMutex(clients, "a");
  clients.length = 1;
  const second = new RedlockMutex(clients, "a");
  await second.acquire();
  assertEquals(await Promise.all(at.clients.map((client) => client.exists("mutex:a"))), [1, 0, 0]);
  await second.release();
  await first.acquire();
  await first.release();
});

Deno.test("Mutex.release() after stopRefresh() leaves no timer", async () => {
  await using at = await place();
  const mutex = new Mutex(at.clients[0]!, "a", { lockTimeout: LONG });
  await mutex.acquire();
  mutex.stopRefresh();
  await mutex.release();
  assert(!mutex.isAcquired);
});

Deno.test("Mutex without refreshInterval ends with its lease", async () => {
  await using at = await place();
  const lost: Error[] = [];
  const onLockLost = (error: Error) => void lost.push(error);
  const [first, second] = [
    new Mutex(at.clients[0]!, "a", { lockTimeout: 200, refreshInterval: 0, onLockLost }),
    new Mutex(at.clients[0]!, "a"),
  ];
  await first.acquire();
  await second.acquire();
  await until(() => lost.length === 1, "the loss is told");
  assert(!first.isAcquired);
  await second.release();
});

Deno.test("Mutex with acquireAttemptsLimit: 1 does not wait", async () => {
  await using at = await place();
  const [first, second] = [
    new Mutex(at.clients[0]!, "a"),
    new Mutex(at.clients[0]!, "a", { acquireAttemptsLimit: 1, acquireTimeout: LONG }),
  ];
  await first.acquire();
  assert(!await second.tryAcquire());
  await first.release();
  assertEquals(defaultTimeoutOptions.acquireTimeout, 10_000);
});

Deno.test("RedlockMutex is held while a minority of the servers has lost it", async () => {
  await using at = await place(3);
  const [first, second] = [
    new RedlockMutex(at.clients, "a", { lockTimeout: 30_000, refreshInterval: 100 }),
    new RedlockMutex(at.clients, "a", BRIEF),
  ];
  await first.acquire();
  for (const client of at.clients) {
    await client.flushall();
    assert(!await second.tryAcquire());
    await until(async () => (await client.get("mutex:a"))?.startsWith(first.identifier) === true, "it is restored");
  }
  await first.release();
});

Deno.test("Mutex, RedlockMutex and Semaphore check their arguments", async () => {
  await using at = await place();
  const [client] = at.clients;
  assertThrows(() => new Mutex(null as never, "a"), TypeError);
  assertThrows(() => new Mutex({} as never, "a"), TypeError);
  assertThrows(() => new Mutex(client!, ""), RangeError, "key");
  assertThrows(() => new Mutex(client!, 1 as never), TypeError, "key");
  assertThrows(() => new RedlockMutex(client as never, "a"), TypeError, "clients");
  assertThrows(() => new RedlockMutex([], "a"), RangeError, "clients");
  for (const limit of [0, 1.5, "10"]) {
    assertThrows(() => new Semaphore(client!, "a", limit as never), RangeError, "limit");
  }
  assertThrows(() => new Mutex(client!, "a", { lockTimeout: "1" as never }), TypeError, "lockTimeout");
  assertThrows(() => new Mutex(client!, "a", { onLockLost: 1 as never }), TypeError, "onLockLost");
  assertThrows(() => new Mutex(client!, "a", { identifier: "me" } as never), TypeError, "identifier is not supported");
});
