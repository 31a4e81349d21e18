// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { RedisServer } from "../../support/redis_server.ts";
import { Random } from "../../simulation/kernel/random.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { clientFaults } from "./client_faults.ts";
import type { Fault } from "./fault.ts";
import { Ways } from "./ways.ts";

/** Much longer than the test, in milliseconds: what is held back stays so until the fault is over. */
const LEASE = 600_000;

Deno.test("clientFaults() disturb one process while another is served, and take it back", async (t) => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const deployment = { proxies: [proxy], target: () => ({ kind: "single", port: 0 } as const) };
  await using well = await Ways.open(deployment);
  await using struck = await Ways.open(deployment);
  const [undisturbed, disturbed] = [well, struck].map(({ proxies }) => proxies[0]!.connect());
  const faults = clientFaults([well, struck], LEASE);
  assert(faults.length >= 4 && faults.every(({ where }) => where === "client 0"));
  for (const fault of faults) {
    await t.step(fault.kind, () => holdsBack(fault, disturbed!, undisturbed!));
  }
});

Deno.test("clientFaults() happen to every process but one, each by itself", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const deployment = { proxies: [proxy], target: () => ({ kind: "single", port: 0 } as const) };
  await using stack = new AsyncDisposableStack();
  const ways = await Promise.all(Array.from({ length: 4 }, async () => stack.use(await Ways.open(deployment))));
  const places = (count: number) => new Set(clientFaults(ways.slice(0, count), LEASE).map(({ where }) => where)).size;
  assertEquals([places(1), places(2), places(4)], [1, 1, 3]);
});

async function holdsBack(
  fault: Fault,
  disturbed: { ping(): Promise<string> },
  undisturbed: { ping(): Promise<string> },
): Promise<void> {
  await disturbed.ping();
  const over = new AbortController();
  const injected = fault.inject(new Random(1), over.signal, () => {});
  let answered = false;
  const answer = disturbed.ping().then(() => answered = true);
  // By then the other one would have been answered as well.
  for (let i = 0; i < 10; i++) await undisturbed.ping();
  assert(!answered, "held back");
  over.abort();
  assert(await injected);
  await answer;
}
