// Deno only: it listens on ports in the place of a server.
import { assert } from "@std/assert";
import { delay } from "@std/async";
import { QuorumError, tryAcquire } from "@holdfast/lock";
import { redlock } from "@holdfast/lock/redlock";
import { Masters } from "../support/masters.ts";
import { replayed } from "../support/replayed.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

Deno.test("tryAcquire() waits for clients that are still connecting to most of the servers", async () => {
  await using masters = await Masters.start(3);
  await replayed(async () => {
    await using stack = new AsyncDisposableStack();
    const proxies = await Promise.all(masters.servers.map(({ port }) => TcpProxy.start(port)));
    for (const proxy of proxies) stack.use(proxy);
    const nodeTimeout = 300;
    for (const proxy of proxies.slice(1)) proxy.stall();
    const store = redlock(proxies.map((proxy) => proxy.connect()), { nodeTimeout });
    const acquired = tryAcquire(store, crypto.randomUUID());
    const outcome = acquired.catch((error: unknown) => error);
    await delay(3 * nodeTimeout);
    for (const proxy of proxies) proxy.resume();
    // On a slow machine the servers may take longer once they are connected.
    if (await outcome instanceof QuorumError) return "the servers have not answered in time";
    const lock = await acquired;
    assert(lock?.held);
    await lock.release();
    return undefined;
  }, 5);
});
