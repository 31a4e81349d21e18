// Deno only: it starts a server, whose requests Deno's fetch repeats when a connection is closed behind them.
import { assertEquals, assertRejects } from "@std/assert";
import { acquire, LockLostError } from "@holdfast/lock";
import type { EtcdFetch } from "@holdfast/lock/etcd";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { HANG_MS } from "../../support/until.ts";
import { Place, test } from "./place.ts";

Place.serve();

test("acquire() on etcd loses no lock when a connection is cut behind its release", async (place) => {
  await using proxy = await TcpProxy.start(Place.cluster.members[0]!.port);
  const store = place.store({ endpoints: [`http://127.0.0.1:${proxy.port}`] });
  for (const kind of [{}, { mode: "shared" }, { permits: 3 }] as const) {
    const lock = await acquire(store, "a", { ...kind, renew: false });
    const lost = proxy.loseReply("/kv/txn");
    await lock.release();
    await lost;
  }
  const evicted = await acquire(store, "a", { renew: false });
  const lost = proxy.loseReply("/kv/txn");
  assertEquals(await store.evict!("a"), 1);
  await lost;
  await assertRejects(() => evicted.release(), LockLostError);
  await place.quiet();
});

/** Returns a `fetch` that cuts the first answer to a path in its middle, which a proxy passes on as a whole one. */
function cutting(path: string): EtcdFetch {
  let isCut = false;
  return async (url, request) => {
    const response = await fetch(url, request);
    if (isCut || !url.endsWith(path)) return response;
    isCut = true;
    const text = await response.text();
    return new Response(text.slice(0, text.length / 2));
  };
}

for (const path of ["/kv/range", "/kv/txn"]) {
  test(`acquire() on etcd goes on after an answer to ${path} that was cut`, async (place) => {
    const lock = await acquire(place.store({ fetch: cutting(path) }), "a", { wait: HANG_MS });
    await lock.release();
    assertEquals(await place.used(), []);
  });
}
