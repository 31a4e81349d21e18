import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";
import { CasStore } from "../../../src/stores/cas/store.ts";
import type { Backend } from "../../../src/stores/cas/mod.ts";
import { EtcdBackend } from "../../../src/stores/etcd/store.ts";
import { EtcdGateway } from "../../../src/stores/etcd/gateway.ts";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";

type Kv = { key: string; value?: string; mod_revision: string };
type Event = { type?: "DELETE"; kv: Kv };

/** etcd in memory: one key space; each URL is a member. A frozen one sends nothing and answers nothing. */
class Etcd {
  revision = 10;
  kvs = new Map<string, Kv>();
  history: Event[] = [];
  frozen = new Set<string>();
  streams = new Set<{ url: string; key: string; from: number; send: (e: Event[]) => void }>();
  counts: Record<string, number> = {};
  #put(event: Event) {
    this.history.push(event);
    if (event.type === "DELETE") this.kvs.delete(event.kv.key);
    else this.kvs.set(event.kv.key, event.kv);
    for (const s of this.streams) {
      if (s.key === event.kv.key && this.revision >= s.from && !this.frozen.has(s.url)) s.send([event]);
    }
  }
  fetch = (url: string, { body, signal }: { body: string; signal: AbortSignal }): Promise<Response> => {
    const host = new URL(url).host, path = new URL(url).pathname, b = JSON.parse(body);
    this.counts[path] = (this.counts[path] ?? 0) + 1;
    if (this.frozen.has(host)) {
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    }
    const header = () => ({ header: { revision: `${this.revision}` } });
    const json = (o: object) => Promise.resolve(new Response(JSON.stringify({ ...header(), ...o })));
    const range = (key: string) => ({ kvs: this.kvs.has(key) ? [this.kvs.get(key)!] : [] });
    if (path === "/v3/kv/range") return json(range(b.key));
    if (path === "/v3/kv/txn") {
      const [{ key, mod_revision }] = b.compare;
      if ((this.kvs.get(key)?.mod_revision ?? "0") !== mod_revision) {
        return json({ responses: [{ response_range: range(key) }] });
      }
      this.revision++;
      const [{ request_put: put }] = b.success;
      this.#put(
        put === undefined
          ? { type: "DELETE", kv: { key, mod_revision: `${this.revision}` } }
          : { kv: { key, value: put.value, mod_revision: `${this.revision}` } },
      );
      return json({ succeeded: true });
    }
    const { key, start_revision } = b.create_request;
    let end = () => {};
    const stream = new ReadableStream<Uint8Array>({
      start: (c) => {
        const line = (result: object) => c.enqueue(new TextEncoder().encode(JSON.stringify({ result }) + "\n"));
        const s = { url: host, key, from: Number(start_revision), send: (events: Event[]) => line({ events }) };
        this.streams.add(s);
        line({ created: true });
        const old = this.history.filter((e) => e.kv.key === key && Number(e.kv.mod_revision) >= s.from);
        if (old.length > 0) line({ events: old });
        end = () => this.streams.delete(s);
      },
      cancel: () => end(),
    });
    signal.addEventListener("abort", () => end());
    return Promise.resolve(new Response(stream));
  };
}

function connect(etcd: Etcd, clock: VirtualClock, endpoints = ["http://a", "http://b"]) {
  // deno-lint-ignore no-explicit-any
  const settings = checkEtcdOptions({ endpoints, fetch: etcd.fetch as any });
  const gateway = new EtcdGateway(settings, clock);
  const backend = new EtcdBackend(gateway, settings.prefix, clock);
  return new CasStore(backend as Backend, { maxClockSkew: 10_000, observer: undefined }, clock, () => 0.5);
}

async function run(clock: VirtualClock, ms: number, until: () => boolean = () => false) {
  const from = clock.now().monotonic;
  for (; clock.now().monotonic < from + ms && !until();) {
    await clock.advance(10);
    for (let i = 0; i < 5; i++) await settled();
  }
  return clock.now().monotonic - from;
}

Deno.test("a watch whose member is frozen is replaced although its store renews", async () => {
  const [etcd, clock] = [new Etcd(), new VirtualClock()];
  const [holder, other] = [connect(etcd, clock), connect(etcd, clock, ["http://b"])];
  const lease = 10_000;
  const held = claimOf("l", "exclusive", lease);
  await grant(holder, held);
  const scope = new AbortController();
  let revokedAt: number | undefined;
  const watch = holder.revocation(held, scope.signal).then(() => revokedAt ??= clock.now().monotonic);
  await run(clock, 100);
  assertEquals([...etcd.streams].map(({ url }) => url), ["a"]);
  etcd.frozen.add("a");
  let renewal = 0;
  const renew = async () => {
    const r = holder.renew({ ...held, renewal: ++renewal }).catch((e) => `${e}`);
    await run(clock, 10);
    return r;
  };
  // The first one fails: only the next call asks b.
  void renew();
  await run(clock, 2_500);
  for (let i = 0; i < 20; i++) {
    assertEquals(await renew(), "renewed");
    await run(clock, 3_323);
  }
  console.log("streams after 66 s of renewals by b:", [...etcd.streams].map(({ url }) => url), etcd.counts);
  assertEquals(await renew(), "renewed");
  const evictedAt = clock.now().monotonic;
  assertEquals(await other.evict!("l"), 1);
  await run(clock, 2_000, () => revokedAt !== undefined);
  console.log("notified after", revokedAt === undefined ? "more than 2000" : revokedAt - evictedAt, "ms");
  const notified = revokedAt;
  scope.abort();
  await watch;
  assert(notified !== undefined, "not notified within 2 s");
});

Deno.test("a sleeping waiter beside a renewing holder of one store", async () => {
  const [etcd, clock] = [new Etcd(), new VirtualClock()];
  const [store, other] = [connect(etcd, clock), connect(etcd, clock, ["http://b"])];
  const mine = claimOf("l", 2, 10_000), theirs = claimOf("l", 2, 200_000), waits = claimOf("l", 2);
  await grant(store, mine);
  await grant(other, theirs);
  await ask(store, waits);
  const scope = new AbortController();
  let wokenAt: number | undefined;
  const woken = store.wakeup(waits, scope.signal).then(() => wokenAt ??= clock.now().monotonic);
  await run(clock, 100);
  etcd.frozen.add("a");
  let renewal = 0;
  void store.renew({ ...mine, renewal: ++renewal }).catch(() => {});
  await run(clock, 2_500);
  for (let i = 0; i < 20; i++) {
    const r = store.renew({ ...mine, renewal: ++renewal });
    await run(clock, 10);
    assertEquals(await r, "renewed");
    await run(clock, 3_323);
  }
  assertEquals(wokenAt, undefined);
  const r = store.renew({ ...mine, renewal: ++renewal });
  await run(clock, 10);
  await r;
  const at = clock.now().monotonic;
  await other.release(theirs);
  const ms = await run(clock, 6_000, () => wokenAt !== undefined);
  console.log("woken after", ms, "ms", [...etcd.streams].map(({ url }) => url));
  scope.abort();
  await woken;
  assert(ms < 1_000, `${ms} ms, ${at}`);
});
