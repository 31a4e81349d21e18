// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Lock } from "@holdfast/lock";
import type { EtcdFetch, EtcdStore } from "@holdfast/lock/etcd";
import { claimOf } from "../../support/claims.ts";
import { inTime } from "../../support/in_time.ts";
import { runSource } from "../../support/run_source.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { warningsOf } from "../../support/warnings.ts";
import { counting } from "./counting.ts";
import { Place, test, WAITED, watchers, watching } from "./place.ts";

Place.serve();

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
      if (/\/(range|txn)$/.test(url)) reads++;
      if (!url.endsWith("/watch")) return await fetch(url, request);
      const response = await fetch(url, request);
      // Only when it has ended, which it does not by itself.
      return new Response(await response.text());
    },
    reads: () => reads,
  };
}

test("wakeup() resolves by a watch alone when another store releases the lock", async (place) => {
  const lock = await acquire(place.store(), "a", { lease: 60_000 });
  // On a clock that stands still nobody looks, and nobody attempts again.
  const store = place.engine({}, new VirtualClock());
  const claim = claimOf("a");
  assert(!(await store.attempt(claim, { enqueue: true })).granted);
  const woken = store.wakeup(claim, new AbortController().signal);
  await watching(1);
  await lock.release();
  await inTime(woken, HANG_MS, "the event");
  assert((await store.attempt(claim, { enqueue: true })).granted);
  await watching(0);
  assert(await store.release(claim));
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

test("lock.signal aborts without a watch when another store takes the lock away", async (place) => {
  const { fetch, isQuiet, count } = counting();
  const lock = await acquire(place.store({ fetch }), "a", { lease: 60_000 });
  const { promise, resolve } = Promise.withResolvers<void>();
  lock.signal.addEventListener("abort", () => resolve());
  assertEquals(await place.store().evict("a"), 1);
  await promise;
  assert(!lock.held);
  assertEquals(count("/watch"), 0);
  // What is lost is released all the same.
  await until(isQuiet, "all is done");
});

test("acquire() lets a process exit that holds a lock and reads its signal", async (place) => {
  const program = `
    import { acquire } from "./mod.ts";
    import { etcd } from "./src/stores/etcd/mod.ts";
    const store = etcd(${JSON.stringify(place.options)});
    (await acquire(store, "a", { lease: 600_000 })).signal.throwIfAborted();
    console.log("end");`;
  const cwd = new URL("../../../", import.meta.url);
  const { out, err, success } = await runSource(program, { flags: ["--allow-all"], cwd, limit: HANG_MS });
  assertEquals([out, success], ["end\n", true], err);
});

test("watch() for holders reads 250 keys with three requests a second", async (place) => {
  const { fetch, count, bodies } = counting();
  const clock = new VirtualClock();
  const [backend, writer] = [place.backend({ fetch }, clock), place.backend()];
  const names = Array.from({ length: 250 }, (_, i) => `lock ${i}`);
  const versions = await Promise.all(names.map(async (name) => {
    const write = await writer.write(name, "1", "0");
    assert(write.written);
    return write.version;
  }));
  const over = new AbortController();
  const found = new Map<string, unknown>();
  const watches = ["absent", ...names].map(async (name, i) => {
    const watched = await backend.watch(name, versions[i - 1] ?? "0", over.signal, { isWaited: false });
    if (watched !== undefined) found.set(name, watched);
  });
  const changed = await writer.write("lock 7", "2", versions[7]!);
  assert(changed.written && await writer.remove([{ key: "lock 249", version: versions[249]! }]) === 1);
  await clock.advance(999);
  assertEquals(count("/txn"), 0);
  await clock.advance(1);
  await until(() => found.size === 2, "both are found");
  assertEquals(found.get("lock 7"), { value: "2", version: changed.version });
  assertEquals(found.get("lock 249"), { value: undefined, version: "0" });
  await until(() => clock.pending === 1, "all are answered, and the next poll is to come");
  assertEquals([count("/txn"), bodies.length], [3, 3]);
  over.abort();
  await Promise.all(watches);
  assertEquals(clock.pending, 0);
});

test("watch() for holders goes on after requests that fail", async (place) => {
  const clock = new VirtualClock();
  let failures = 0;
  const failing: EtcdFetch = (url, request) => ++failures > 3 ? fetch(url, request) : Promise.reject(new Error("cut"));
  const backend = place.backend({ fetch: failing }, clock);
  const over = new AbortController();
  const watch = backend.watch("a", "0", over.signal, { isWaited: false });
  const written = await place.backend().write("a", "1", "0");
  assert(written.written);
  for (let turn = 1; turn <= 4; turn++) {
    await until(() => clock.pending === 1, "the next request is to come");
    await clock.advance(1_000);
    await until(() => failures >= turn, "it has asked");
  }
  assertEquals(await watch, { value: "1", version: written.version });
  assertEquals(clock.pending, 0);
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
    await backend.watch("a", version, new AbortController().signal, WAITED);
    version = write.version;
  }
  await watching(0);
});

test("watch() resolves to what is there, or to the absence of it", async (place) => {
  const backend = place.backend();
  const first = await backend.write("a", "été", "0");
  assert(first.written);
  const { signal } = new AbortController();
  assertEquals(await backend.watch("a", "0", signal, WAITED), { value: "été", version: first.version });
  assertEquals(await backend.remove([{ key: "a", version: first.version }]), 1);
  assertEquals(await backend.watch("a", first.version, signal, WAITED), { value: undefined, version: "0" });
  await watching(0);
});

test("watch() asks once for what is written one after the other", async (place) => {
  const { fetch, count } = counting();
  const [writer, backend] = [place.backend(), place.backend({ fetch })];
  const scope = new AbortController();
  const seen: unknown[] = [];
  const watches = (async () => {
    for (let version = "0"; !scope.signal.aborted;) {
      const found = await backend.watch("a", version, scope.signal, WAITED);
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
  const watches = [backend.watch("a", "0", scope.signal, WAITED)];
  await watching(1);
  await until(() => clock.pending === 0, "the client knows that");
  await clock.advance(4_999);
  watches.push(backend.watch("a", "0", scope.signal, WAITED));
  assertEquals(count("/watch"), 1);
  await clock.advance(1);
  watches.push(backend.watch("a", "0", scope.signal, WAITED));
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
    return backend.watch("a", version, over.signal, WAITED);
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
  const watch = backend.watch("a", first.version, over.signal, WAITED);
  await backend.watch("a", "0", new AbortController().signal, WAITED);
  over.abort();
  await watch;
  await watching(0);
});

test("watch() does not resolve for what is known, nor for another name", async (place) => {
  const backend = place.backend();
  const first = await backend.write("a", "1", "0");
  assert(first.written);
  let isOver = false;
  const over = backend.watch("a", first.version, new AbortController().signal, WAITED).then(() => isOver = true);
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
  const watch = backend.watch("a", first.version, over.signal, WAITED);
  await watching(1);
  over.abort();
  await watch;
  await watching(0);
  await backend.watch("a", first.version, over.signal, WAITED);
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
  await backend.watch("a", String(BigInt(version) - 2n), new AbortController().signal, WAITED);
  const lock = await acquire(place.store(), "b");
  const waiter = acquire(place.store(), "b", { wait: HANG_MS });
  await waiting(place, 1);
  const { header } = await Place.cluster.members[0]!.call("/v3/kv/range", { key: btoa("a") });
  await Place.cluster.members[0]!.call("/v3/kv/compaction", { revision: header.revision });
  await lock.release();
  await (await waiter).release();
});

test("watch() rejects when its connection is cut, and the next one watches again", async (place) => {
  await using proxy = await TcpProxy.start(Place.cluster.members[0]!.port);
  const [writer, backend] = [place.backend(), place.backend({ endpoints: [`http://127.0.0.1:${proxy.port}`] })];
  const first = await writer.write("a", "1", "0");
  assert(first.written);
  const { signal } = new AbortController();
  const watch = () => inTime(backend.watch("a", first.version, signal, WAITED), HANG_MS, "the event");
  const failing = watch().then(() => "ended", () => "failed");
  await watching(1);
  proxy.cut();
  assertEquals(await failing, "failed");
  await watching(0);
  const next = watch();
  await watching(1);
  const second = await writer.write("a", "2", first.version);
  assert(second.written);
  assertEquals(await next, { value: "2", version: second.version });
});

test("acquire() goes on when the connection of its watch is cut", async (place) => {
  await using proxy = await TcpProxy.start(Place.cluster.members[0]!.port);
  const lock = await acquire(place.store(), "a");
  const { fetch, count } = counting();
  const store = place.store({ endpoints: [`http://127.0.0.1:${proxy.port}`], fetch });
  const waiter = acquire(store, "a", { wait: 60_000 });
  await watching(1);
  // A slow machine may have begun several.
  const before = count("/watch");
  proxy.cut();
  await until(() => count("/watch") > before, "it watches again");
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
  await until(() => reads() >= before + 10, "it polls", HANG_MS);
  await lock.release();
  await (await waiter).release();
});

test("watch() warns once that nothing comes of its streams, at the second of them", async (place) => {
  const clock = new VirtualClock();
  // As a proxy that takes the request, and keeps everything back.
  const silent: EtcdFetch = async (url, request) => {
    return url.endsWith("/watch") ? new Response(new ReadableStream()) : await fetch(url, request);
  };
  const backend = place.backend({ fetch: silent }, clock);
  const seen: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const warnings = await warningsOf(async () => {
      const watch = backend.watch("a", "0", new AbortController().signal, { isWaited: true });
      await until(() => clock.pending === 1, "it has begun");
      await clock.advance(1_000);
      await watch;
    });
    seen.push(warnings.length);
    await clock.advance(10_000);
  }
  assertEquals(seen, [0, 1, 0]);
  assertEquals(clock.pending, 0);
});
