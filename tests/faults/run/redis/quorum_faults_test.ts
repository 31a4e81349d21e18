// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { lockKeys } from "../../../../src/stores/redis/keys/keys.ts";
import { retake } from "../../../../src/stores/redis/scripts/generated.ts";
import { RedisServer } from "../../../support/redis_server.ts";
import { Random } from "../../../simulation/kernel/random.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { until } from "../../../support/until.ts";
import { quorumFaults } from "./quorum_faults.ts";

/** Much longer than the test, in milliseconds: what is held back stays so until the fault is over. */
const LEASE = 600_000;

const KEYS = lockKeys("lock:kept 0");
const [LOCK, FENCE] = [KEYS[0], KEYS[5]];

/** Three nodes that have the lock, with a client of each, and the faults. */
async function quorum(stack: AsyncDisposableStack, { lease = LEASE, putBack = (_: number) => {} } = {}) {
  const servers = await Promise.all(Array.from({ length: 3 }, async () => stack.use(await RedisServer.start())));
  const proxies = await Promise.all(servers.map(async ({ port }) => stack.use(await TcpProxy.start(port))));
  const clients = proxies.map((proxy) => proxy.connect());
  for (const [i, server] of servers.entries()) {
    await server.command("MSET", LOCK, "holder", FENCE, "5");
    await clients[i]!.ping();
  }
  const [known, restored] = quorumFaults({ servers, proxies, lock: "kept 0", lease, putBack });
  const counters = () => Promise.all(servers.map((server) => server.command("GET", FENCE)));
  return {
    servers,
    clients,
    known: known!,
    restored: restored!,
    /** How many have the lock. */
    having: async () => {
      const found = await Promise.all(servers.map((server) => server.command("EXISTS", LOCK)));
      return found.filter((count) => count === 1).length;
    },
    /** How many have a larger counter. */
    raised: async () => {
      return (await counters()).filter((counter) => /^\d+$/.test(String(counter)) && Number(counter) > 5).length;
    },
  };
}

Deno.test("quorumFaults() hold back what a node says that has lost a lock to others", async () => {
  await using stack = new AsyncDisposableStack();
  const { clients, known, having, raised } = await quorum(stack);
  const over = new AbortController();
  let ended = 0;
  const injected = known.inject(new Random(1), over.signal, () => ended++);
  await until(async () => await having() === 2, "the first node has lost it");
  const answered = new Set<number>();
  const answers = clients.map((client, i) => client.ping().then(() => answered.add(i)));
  await until(() => answered.size === 2, "the others answer");
  // By then the first one would have been answered as well.
  for (const i of answered) await clients[i]!.ping();
  assertEquals([answered.size, ended, await raised()], [2, 0, 1], "held back");
  over.abort();
  assert(await injected);
  await Promise.all(answers);
  assertEquals([await having(), await raised(), ended], [1, 2, 1]);
});

Deno.test("quorumFaults() let others overtake the restoration of a lock", async () => {
  await using stack = new AsyncDisposableStack();
  const { clients, restored, having, raised } = await quorum(stack);
  const over = new AbortController();
  let ended = 0;
  const injected = restored.inject(new Random(1), over.signal, () => ended++);
  await until(async () => await having() === 2, "the first node has lost it");
  assertEquals(await raised(), 0);
  const seen = () => clients.map((client) => client.set("seen", retake.sha, "GET"));
  const answers = Promise.all(seen());
  await until(async () => await raised() === 1, "others have asked the first node");
  assertEquals(ended, 0);
  over.abort();
  assert(await injected);
  assertEquals(await answers, [null, null, null]);
  assertEquals([await having(), await raised(), ended], [1, 2, 1]);
});

Deno.test("quorumFaults() take all back when a node does not answer", async () => {
  await using stack = new AsyncDisposableStack();
  const { servers, clients, known, restored } = await quorum(stack);
  for (const server of servers) await server.kill();
  let ended = 0;
  for (const fault of [known, restored]) {
    assertEquals(await fault.inject(new Random(1), new AbortController().signal, () => ended++), false);
  }
  assertEquals(ended, 2);
  for (const server of servers) await server.start();
  await Promise.all(clients.map((client) => client.ping()));
});

for (const back of [true, false]) {
  Deno.test(`quorumFaults() ${back ? "report" : "do not report without"} a restoration by the late request`, async () => {
    await using stack = new AsyncDisposableStack();
    const over = new AbortController();
    const reported: number[] = [];
    const { clients, restored, having } = await quorum(stack, {
      lease: 10_000,
      putBack(node) {
        reported.push(node);
        over.abort();
      },
    });
    const injected = restored.inject(new Random(1), over.signal, () => {});
    await until(async () => await having() === 2, "the first node has lost it");
    await Promise.all(clients.map((client) => client.mset("seen", retake.sha, back ? LOCK : "other", "holder")));
    assert(await injected);
    assertEquals(reported.length, back ? 1 : 0);
  });
}
