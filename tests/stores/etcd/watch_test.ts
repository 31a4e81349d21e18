// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Lock } from "@holdfast/lock";
import type { EtcdFetch, EtcdStore } from "@holdfast/lock/etcd";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { counting } from "./counting.ts";
import { ignore, Place, watchers, watching } from "./place.ts";

Place.serve();

function test(name: string, run: (place: Place) => Promise<void>): void {
  Deno.test({ name, fn: () => run(new Place()), ignore });
}

/** Resolves when so many handles wait. */
function waiting(place: Place, count: number): Promise<void> {
  const store = place.store();
  return until(async () => (await store.query()).pending.length === count, `waiters: ${count}`);
}

/** Returns a `fetch` that counts reads, and that keeps back what a watch says, as a proxy may. */
function buffering(): { readonly fetch: EtcdFetch; readonly reads: () => number } {
  let reads = 0;
  return {
    fetch: async (url, request) => {
      if (url.endsWith("/range")) reads++;
      if (!url.endsWith("/watch")) return await fetch(url, request);
      const response = await fetch(url, request);
      // Only when it has ended, which it does not by itself.
      return new Response(await response.text());
    },
    reads: () => reads,
  };
}

test("acquire() is woken by a watch when another store releases the lock", async (place) => {
  const lock = await acquire(place.store(), "a");
  const waiter = acquire(place.store(), "a", { wait: 20_000 });
  await watching(1);
  await lock.release();
  const next = await waiter;
  await watching(0);
  await next.release();
});

test("acquire() leaves no watch when it ends without the lock", async (place) => {
  const lock = await acquire(place.store(), "a");
  const over = new AbortController();
  const waiter = acquire(place.store(), "a", { signal: over.signal });
  await watching(1);
  over.abort(new Error("enough"));
  await assertRejects(() => waiter, Error, "enough");
  await watching(0);
  await lock.release();
});

test("lock.signal aborts by a watch when another store takes the lock away", async (place) => {
  const { fetch, isQuiet } = counting();
  const lock = await acquire(place.store({ fetch }), "a", { lease: 60_000 });
  const { promise, resolve } = Promise.withResolvers<void>();
  lock.signal.addEventListener("abort", () => resolve());
  await watching(1);
  assertEquals(await place.store().evict("a"), 1);
  await promise;
  assert(!lock.held);
  await watching(0);
  // What is lost is released all the same.
  await until(isQuiet, "all is done");
});

test("acquire() leaves no watch however often several stores contend", async (place) => {
  const stores = Array.from({ length: 8 }, () => place.store());
  const contend = async (store: EtcdStore) => {
    for (let i = 0; i < 10; i++) {
      await using lock = await acquire(store, "a", { wait: 60_000 });
      assert(!lock.signal.aborted);
    }
  };
  for (let round = 0; round < 6; round++) {
    await Promise.all(stores.map(contend));
    await watching(0);
  }
});

test("watch() misses nothing that was written after the revision", async (place) => {
  const backend = place.backend();
  let version = "0";
  for (let turn = 0; turn < 20; turn++) {
    const write = await backend.write("a", `${turn}`, version);
    assert(write.written);
    // From before it was written.
    await backend.watch("a", version, new AbortController().signal);
    version = write.version;
  }
  await watching(0);
});

test("watch() resolves to what is there, or to the absence of it", async (place) => {
  const backend = place.backend();
  const first = await backend.write("a", "été", "0");
  assert(first.written);
  const { signal } = new AbortController();
  assertEquals(await backend.watch("a", "0", signal), { value: "été", version: first.version });
  assert(await backend.remove("a", first.version));
  assertEquals(await backend.watch("a", first.version, signal), { value: undefined, version: "0" });
  await watching(0);
});

test("watch() asks once for what is written one after the other", async (place) => {
  const { fetch, count } = counting();
  const [writer, backend] = [place.backend(), place.backend({ fetch })];
  const scope = new AbortController();
  const seen: unknown[] = [];
  const watches = (async () => {
    for (let version = "0"; !scope.signal.aborted;) {
      const found = await backend.watch("a", version, scope.signal);
      if (found === undefined) continue;
      seen.push(found);
      version = found.version;
    }
  })();
  let version = "0";
  for (let turn = 1; turn <= 20; turn++) {
    const write = await writer.write("a", `${turn}`, version);
    assert(write.written);
    version = write.version;
    await until(() => seen.length === turn, `events: ${turn}`);
    assertEquals(seen.at(-1), { value: `${turn}`, version });
  }
  assertEquals(count("/watch"), 1);
  scope.abort();
  await watches;
  await watching(0);
});

test("watch() uses no stream that has said nothing for 5 s: it may be dead", async (place) => {
  const { fetch, count } = counting();
  const clock = new VirtualClock();
  const backend = place.backend({ fetch }, clock);
  const scope = new AbortController();
  const watches = [backend.watch("a", "0", scope.signal)];
  await watching(1);
  await until(() => clock.pending === 0, "the client knows that");
  await clock.advance(4_999);
  watches.push(backend.watch("a", "0", scope.signal));
  assertEquals(count("/watch"), 1);
  await clock.advance(1);
  watches.push(backend.watch("a", "0", scope.signal));
  await until(() => count("/watch") === 2, "it watches anew");
  await watching(1);
  scope.abort();
  await Promise.all(watches);
  await watching(0);
});

test("watch() does not resolve for what was known when it began, if that comes late", async (place) => {
  const backend = place.backend();
  const first = await backend.write("a", "1", "0");
  assert(first.written);
  const over = new AbortController();
  // Its event comes after the second one waits.
  const watches = [first.version, `${BigInt(first.version) + 1n}`].map((version) => {
    return backend.watch("a", version, over.signal);
  });
  await watching(1);
  const second = await backend.write("a", "2", first.version);
  assert(second.written);
  assertEquals(await watches[0], { value: "2", version: second.version });
  const third = await backend.write("a", "3", second.version);
  assert(third.written);
  assertEquals(await watches[1], { value: "3", version: third.version });
  await watching(0);
});

test("watch() of an older revision than that of its stream resolves at once", async (place) => {
  const backend = place.backend();
  const first = await backend.write("a", "1", "0");
  assert(first.written);
  const over = new AbortController();
  const watch = backend.watch("a", first.version, over.signal);
  await backend.watch("a", "0", new AbortController().signal);
  over.abort();
  await watch;
  await watching(0);
});

test("watch() does not resolve for what is known, nor for another name", async (place) => {
  const backend = place.backend();
  const first = await backend.write("a", "1", "0");
  assert(first.written);
  let isOver = false;
  const over = backend.watch("a", first.version, new AbortController().signal).then(() => isOver = true);
  await watching(1);
  await backend.write("b", "1", "0");
  await backend.write("a0", "1", "0");
  assertEquals(isOver, false);
  await backend.write("a", "2", first.version);
  await over;
  await watching(0);
});

test("watch() resolves when its signal aborts, and when that has aborted before", async (place) => {
  const backend = place.backend();
  const over = new AbortController();
  const first = await backend.write("a", "1", "0");
  assert(first.written);
  const watch = backend.watch("a", first.version, over.signal);
  await watching(1);
  over.abort();
  await watch;
  await watching(0);
  await backend.watch("a", first.version, over.signal);
  assertEquals(await watchers(), 0);
});

test("watch() resolves when its revision was compacted away", async (place) => {
  const backend = place.backend();
  let version = "0";
  for (let turn = 0; turn < 3; turn++) {
    const write = await backend.write("a", `${turn}`, version);
    assert(write.written);
    version = write.version;
  }
  await Place.cluster.members[0]!.call("/v3/kv/compaction", { revision: version });
  await backend.watch("a", String(BigInt(version) - 2n), new AbortController().signal);
  const lock = await acquire(place.store(), "b");
  const waiter = acquire(place.store(), "b", { wait: 20_000 });
  await waiting(place, 1);
  const { header } = await Place.cluster.members[0]!.call("/v3/kv/range", { key: btoa("a") });
  await Place.cluster.members[0]!.call("/v3/kv/compaction", { revision: header.revision });
  await lock.release();
  await (await waiter).release();
});

test("acquire() goes on when the connection of its watch is cut", async (place) => {
  await using proxy = await TcpProxy.start(Place.cluster.members[0]!.port);
  const lock = await acquire(place.store(), "a");
  const { fetch, count } = counting();
  const store = place.store({ endpoints: [`http://127.0.0.1:${proxy.port}`], fetch });
  const waiter = acquire(store, "a", { wait: 60_000 });
  await watching(1);
  proxy.cut();
  await until(() => count("/watch") === 2, "it watches again");
  await watching(1);
  await lock.release();
  await (await waiter).release();
});

test("etcd() has at most 16 watches open, and polls for the other names", async (place) => {
  const names = Array.from({ length: 20 }, (_, i) => `lock ${i}`);
  const [holder, store] = [place.store(), place.store()];
  const locks = new Map<string, Lock>();
  for (const name of names) locks.set(name, await acquire(holder, name, { lease: 60_000 }));
  const waiters = names.map((name) => acquire(store, name, { wait: 60_000 }));
  await waiting(place, 20);
  await watching(16);
  await Promise.all(names.map((name) => locks.get(name)!.release()));
  const granted = await Promise.all(waiters);
  await watching(0);
  for (const lock of granted) await lock.release();
});

test("acquire() polls behind a proxy that buffers what a watch says", async (place) => {
  const { fetch, reads } = buffering();
  const lock = await acquire(place.store(), "a", { lease: 60_000 });
  const waiter = acquire(place.store({ fetch }), "a", { wait: 60_000 });
  await waiting(place, 1);
  // A waiter whose watch has begun reads every 5 s.
  const before = reads();
  await until(() => reads() >= before + 10, "it polls", 40_000);
  await lock.release();
  await (await waiter).release();
});
