// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { type Backend, cas } from "@holdfast/lock/cas";
import { Random } from "../../../simulation/kernel/random.ts";
import { claimOf, grant } from "../../../support/claims.ts";
import { findMemcached, MemcachedServer } from "../../../support/memcached_server.ts";
import { patient } from "../../../support/patient.ts";
import { until } from "../../../support/until.ts";
import { memcached } from "../deployments/memcached.ts";
import { strikes } from "../strikes.ts";
import { connectTo } from "./connection.ts";
import { documentView, readFields } from "../documents.ts";
import { memcachedLeft } from "./left.ts";
import { losses } from "./server_faults.ts";

const found = findMemcached();

const OPTIONS = { ignore: "missing" in found };

/** Starts a server as the fault run does, with two documents on it that lock nothing, and defines a test on it. */
function test(name: string, run: (server: MemcachedServer, backend: Backend) => Promise<void>): void {
  const fn = async () => {
    await using server = await MemcachedServer.start(["-m", "1", "-I", "512k", "-o", "slab_automove=0"]);
    const { backend, close } = connectTo(server.port);
    const store = cas(backend);
    for (const lock of ["a", "b"]) {
      const claim = claimOf(lock);
      await grant(store, claim);
      await store.release(claim);
    }
    await run(server, backend);
    close();
  };
  Deno.test({ name, fn, ...OPTIONS });
}

const over = new AbortController().signal;

for (const kind of ["server restarted", "flush_all", "document evicted"]) {
  test(`losses() lose a document: ${kind}`, async (server, backend) => {
    let lost = 0;
    const ward = { server, locks: ["a"], mayLose: () => true, lost: () => lost++ };
    const fault = losses(ward).find((each) => each.kind === kind)!;
    assertEquals([await fault.inject(new Random(1), over, () => {}), lost], [true, 1]);
    assertEquals(await readFields(backend, "a"), undefined);
    assertEquals((await server.keys()).filter((key) => key.startsWith("flood")), []);
  });

  test(`losses() wait until documents may be lost: ${kind}`, async (server, backend) => {
    const ward = { server, locks: ["a"], mayLose: () => false, lost: () => {} };
    const fault = losses(ward).find((each) => each.kind === kind)!;
    assertEquals(await fault.inject(new Random(1), over, () => {}), false);
    assert(await readFields(backend, "a") !== undefined);
  });
}

Deno.test({
  name: "memcached() freezes its server, and lets it go on",
  ...OPTIONS,
  fn: async () => {
    await using deployment = await memcached(["a"]);
    const { backend, close } = connectTo(deployment.ports[0]!);
    const slow = async () => {
      const started = performance.now();
      await backend.read("a");
      if (performance.now() - started > 150) throw new Error("frozen");
    };
    assert(await strikes(deployment.faults.find(({ kind }) => kind === "server frozen")!, slow));
    await backend.read("a");
    close();
  },
});

test("documentView() tells holders from waiters, and finds neither when they are over", async (_, backend) => {
  const store = cas(backend);
  const [holder, first, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await grant(store, holder);
  for (const waiter of [first, second]) await store.attempt(waiter, { enqueue: true });
  const view = documentView(backend);
  const look = ({ owner }: { readonly owner: string }) => view.look("a", new Set(["another", owner]));
  assertEquals(await look(holder), { present: true, held: true, behind: false });
  assertEquals(await look(first), { present: true, held: false, behind: false });
  assertEquals(await look(second), { present: true, held: false, behind: true });
  await store.evict!("a");
  for (const claim of [first, second, holder]) await store.release(claim);
  for (const claim of [holder, first, second]) {
    assertEquals(await look(claim), { present: false, held: false, behind: false });
  }
});

test("memcachedLeft() finds nothing of holders and waiters that can be passed over", async (server, backend) => {
  const gone = patient(cas(backend));
  await grant(gone, claimOf("a", "exclusive", 3_000));
  await gone.attempt(claimOf("a"), { enqueue: true });
  assertEquals(await memcachedLeft(server, ["a", "b"]).then(({ entries }) => entries), []);
});

test("memcachedLeft() finds a lock that is held, and a connection", async (server, backend) => {
  await grant(cas(backend), claimOf("a"));
  const { entries, connections } = await memcachedLeft(server, ["a"], 300);
  assertEquals(entries.length, 1);
  assert(/^Cannot acquire lock "a" within 300 ms/.test(entries[0]!), entries[0]);
  // That of the look itself may not be closed at once.
  assert(connections.length >= 1);
  await until(async () => (await memcachedLeft(server, [])).connections.length === 1, "one is open");
});
