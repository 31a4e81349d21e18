// Deno only: it listens on ports in the place of a server.
import { assert, assertEquals } from "@std/assert";
import { acquire, type Lock, type LockEvent, LockTimeoutError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Redis } from "ioredis";
import { createServer, type Server } from "node:net";
import { ANSWER_MS, RESERVATION_MS } from "../../../../src/stores/redis/constants.ts";
import { Wakeups } from "../../../../src/stores/redis/wakeups/wakeups.ts";
import { CLOSED_PORT } from "../../../support/free_port.ts";
import { replayed } from "../../../support/replayed.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { until } from "../../../support/until.ts";
import { RedisServer } from "../../../support/redis_server.ts";
import { acquireWoken } from "./acquire_woken.ts";
import { subscribed } from "./subscribed.ts";
import { RULE } from "../rights.ts";
import { testClean, testOnServer } from "../on_server.ts";

/** Longer than any test, in milliseconds. */
const LEASE = 60_000;

/** How long to wait for a lock, in milliseconds: so long only when something is broken. */
const LIMIT = 60_000;

const [QUEUE, WAITERS] = ["{lock:a}:queue", "{lock:a}:waiters"];

testOnServer("acquire() queues and keeps its place while its second connection hangs", async ({ server }) => {
  await using proxy = await TcpProxy.start(server.port);
  const [admin, other] = [server.connect(), server.connect()];
  const client = divert(server.connect(), proxy.port);
  proxy.stall();
  await replayed(async () => {
    const holder = await acquire(admin, "a", { lease: LEASE });
    const served: string[] = [];
    const turns: number[] = [];
    const waiting: Promise<void>[] = [];
    // In turns, so that each of them could be overtaken by the other.
    for (const [i, each] of [client, other, client, other].entries()) {
      const queued = acquire(each, "a", { lease: LEASE, wait: LIMIT }).then(async (lock) => {
        served.push(`${i}`);
        turns.push(performance.now());
        await lock.release();
      });
      waiting.push(queued);
      await until(async () => await admin.zcard(QUEUE) === i + 1, `${i} is queued`);
    }
    assertEquals((await redis(admin).query()).pending.length, 4);
    turns.push(performance.now());
    await holder.release();
    await Promise.all(waiting);
    // The lock is kept for a waiter for so long: on a machine that stands still for longer, others pass.
    const slow = turns.slice(1).some((at, i) => at - turns[i]! > RESERVATION_MS - 10);
    const order = served.join();
    if (slow && order !== "0,1,2,3") return order;
    assertEquals(order, "0,1,2,3");
    return undefined;
  }, 10);
  assert(!Wakeups.of(client).subscription.open, "without the connection");
});

testOnServer("acquire() queues in one trip", async ({ server }) => {
  await using proxy = await TcpProxy.start(server.port);
  const admin = server.connect();
  await admin.set("lock:a", "other", "PX", LEASE);
  const client = divert(server.connect(), proxy.port);
  await client.ping();
  proxy.stall();
  const monitor = server.adopt(await admin.monitor());
  const commands: string[] = [];
  monitor.on("monitor", (_time: string, [name]: string[]) => commands.push(name!.toLowerCase()));
  const controller = new AbortController();
  const waiting = acquire(client, "a", { signal: controller.signal }).catch(() => {});
  // Not what the queue says later: by then a waiter that cannot be woken has asked again.
  await until(() => commands.includes("zadd"), "it is queued");
  const scripts = commands.slice(0, commands.indexOf("zadd")).filter((name) => name.startsWith("eval"));
  // The first one finds no script.
  assertEquals(scripts, ["evalsha", "eval"]);
  controller.abort();
  await waiting;
});

testOnServer("acquire() of 1,000 waiters makes one second connection, which wakes them all", async ({ server }) => {
  await using proxy = await TcpProxy.start(server.port);
  const admin = server.connect();
  await admin.set("lock:a", "other", "PX", LEASE);
  const client = divert(server.connect(), proxy.port);
  await client.ping();
  const before = await connectionsMade(admin);
  proxy.stall();
  const controller = new AbortController();
  const { signal } = controller;
  const began = performance.now();
  const waiting = Array.from({ length: 1_000 }, () => acquire(client, "a", { lease: LEASE, signal }).catch(() => {}));
  await until(async () => await admin.zcard(QUEUE) === 1_000, "all are queued", LIMIT);
  proxy.resume();
  const provable = async () => (await admin.hvals(WAITERS)).filter((entry) => /^\d+!/.test(entry)).length;
  await until(async () => await provable() === 1_000, "all have asked again", LIMIT);
  const made = await connectionsMade(admin) - before;
  // Another one is made when the first has not answered in time.
  const allowed = 1 + (performance.now() - began) / ANSWER_MS;
  assert(made > 0 && made <= allowed, `${made} connections`);
  controller.abort();
  await Promise.all(waiting);
  await until(async () => (await server.leftovers()).join() === "lock:a", "nothing is left");
});

/** Ways in which a second connection cannot be made, for which it gives the port. */
const FAULTS: Record<string, (server: RedisServer, stack: AsyncDisposableStack) => Promise<number>> = {
  hangs: async (server, stack) => {
    const proxy = stack.use(await TcpProxy.start(server.port));
    proxy.stall();
    return proxy.port;
  },
  "is refused": () => Promise.resolve(CLOSED_PORT),
  "is cut again and again": async (_, stack) => stack.use(await Cutter.start()).port,
  "is one too many for the server": async (server) => {
    const count = String(await server.command("CLIENT", "LIST")).trim().split("\n").length;
    await server.command("CONFIG", "SET", "maxclients", count - 1);
    return server.port;
  },
};

for (const [fault, bring] of Object.entries(FAULTS)) {
  Deno.test(`acquire() gets a free lock although its second connection ${fault}`, async () => {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await RedisServer.start());
    const [holder, client] = [server.connect(), server.connect()];
    await Promise.all([holder.ping(), client.ping()]);
    for (const wait of [LIMIT, Infinity]) {
      const lock = await acquire(holder, "a", { lease: LEASE });
      if (wait === LIMIT) divert(client, await bring(server, stack));
      const waiting = acquire(client, "a", { lease: LEASE, wait });
      await until(async () => await holder.zcard(QUEUE) === 1, "it is queued");
      await lock.release();
      await (await waiting).release();
      assert(!Wakeups.of(client).subscription.open, "without the connection");
    }
    assertEquals(await holder.zcard(QUEUE), 0);
    client.disconnect();
  });
}

Deno.test("acquire() polls and warns once where the server refuses to wake it", async () => {
  const { keys, channels, client: commands, scripts } = RULE;
  const rest = [...keys, ...scripts, ...commands.filter((command) => command !== "+subscribe")];
  const users = {
    command: { rule: [...rest, ...channels], missing: ["+subscribe", "&holdfast:*"] },
    channel: { rule: [...rest, "+subscribe", "resetchannels"], missing: ["&holdfast:*"] },
  };
  await using server = await RedisServer.start();
  const admin = server.connect();
  for (const [user, { rule, missing }] of Object.entries(users)) {
    await admin.call("ACL", "SETUSER", user, "reset", "on", ">secret", ...rule);
    const events: LockEvent[] = [];
    const client = server.connect({ username: user, password: "secret", enableReadyCheck: false });
    const store = redis(client, { observer: (event) => events.push(event) });
    for (const wait of [LIMIT, Infinity]) {
      const holder = await acquire(admin, "a", { lease: LEASE });
      const waiting = acquire(store, "a", { lease: LEASE, wait });
      await until(() => Wakeups.of(client).subscription.refusal !== undefined, "it is refused");
      await holder.release();
      await (await waiting).release();
    }
    const warnings = events.flatMap((event) => event.type === "warning" ? [event.message] : []);
    assertEquals(warnings.length, 1);
    assert(warnings[0]!.includes(`ACL SETUSER ${user} ${missing.join(" ")}"`), warnings[0]);
    assertEquals(events.filter(({ type }) => type === "fault"), []);

    if (user !== "command") continue; // The next try is not soon.
    await admin.call("ACL", "SETUSER", user, "+subscribe", "&holdfast:*");
    const holder = await acquire(admin, "a", { lease: LEASE });
    const waiting = acquire(store, "a", { wait: LIMIT });
    await until(() => Wakeups.of(client).subscription.open, "it is subscribed");
    await holder.release();
    await (await waiting).release();
  }
});

testOnServer("acquire() of a free lock makes no second connection", async ({ server }) => {
  const [client, admin] = [server.connect(), server.connect()];
  for (let i = 0; i < 2; i++) await (await acquire(client, "a")).release();
  assertEquals(await connections(admin), 2);
});

testOnServer("Lock.signal that is first read after the client was closed opens no connection", async ({ server }) => {
  for (const end of ["disconnect", "quit"] as const) {
    const client = server.connect();
    let made = 0;
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (override) => {
      made++;
      return duplicate(override);
    };
    const lock = await acquire(client, `${end}`, { lease: LEASE });
    await client[end]();
    await until(() => client.status === "end", "the client is closed");
    assert(!lock.signal.aborted, "the lease goes on");
    await lock.release().catch(() => {});
    assertEquals(made, 0);
  }
});

/** How far a client is when it is closed. */
const PHASES: Record<string, (fixture: Fixture) => Promise<void>> = {
  "is being made": async ({ second, wait }) => {
    second.stall();
    await wait();
  },
  "subscribes": async ({ second, wait }) => {
    const stalled = second.stallReply("subscribe");
    await wait();
    await stalled;
  },
  "has subscribed": async ({ client, wait }) => {
    await wait();
    await until(() => Wakeups.of(client).subscription.open, "it is subscribed");
  },
  "waits for another try": async ({ second, client, wait }) => {
    await wait();
    await until(() => Wakeups.of(client).subscription.open, "it is subscribed");
    second.refuse();
    second.cut();
    await until(() => !Wakeups.of(client).subscription.open, "it is cut");
  },
  "follows a client that was cut off": async ({ first, client, wait }) => {
    await wait();
    await until(() => Wakeups.of(client).subscription.open, "it is subscribed");
    first.refuse();
    first.cut();
    await until(() => client.status === "reconnecting", "the client tries to connect again");
  },
};

interface Fixture {
  readonly client: Redis;
  /** Between the server and the client, and between the server and its second connection. */
  readonly first: TcpProxy;
  readonly second: TcpProxy;
  /** Queues a waiter. */
  readonly wait: () => Promise<void>;
}

/** The phase that is tested last. */
const LAST = "follows a client that was cut off";

/** Defines the test that nothing is left when a client is closed in this phase. */
function testPhase(
  phase: string,
  options: { readonly sanitizeOps?: boolean; readonly sanitizeResources?: boolean } = {},
): void {
  const reach = PHASES[phase]!;
  Deno.test(
    `Wakeups leaves no connection when its client closes while it ${phase}`,
    options,
    async () => {
      await using server = await RedisServer.start();
      await using first = await TcpProxy.start(server.port);
      await using second = await TcpProxy.start(server.port);
      const admin = server.connect();
      await admin.set("lock:a", "other", "PX", LEASE);
      // Between two connections ioredis has a timer for so long when it is closed.
      const client = divert(new Redis(first.port, "127.0.0.1", { disconnectTimeout: 1 }), second.port);
      client.on("error", () => {});
      const controller = new AbortController();
      const { signal } = controller;
      let waiting: Promise<unknown> | undefined;
      const wait = async () => {
        waiting = acquire(client, "a", { signal }).catch(() => {});
        await until(async () => await admin.zcard(QUEUE) === 1, "it is queued");
      };
      await reach({ client, first, second, wait });
      client.disconnect();
      second.resume();
      controller.abort();
      await waiting;
      await until(async () => await connections(admin) === 1, "no connection is left");
    },
  );
}

for (const phase of Object.keys(PHASES)) if (phase !== LAST) testPhase(phase);

testClean("acquire() is woken although the client was cut off while it subscribed", async ({ server }) => {
  await using proxy = await TcpProxy.start(server.port);
  const admin = server.connect();
  const client = divert(server.connect(), proxy.port);
  proxy.stall();
  const holder = await acquire(admin, "a", { lease: LEASE });
  const waiting = acquireWoken(client, "a", LEASE);
  await until(async () => await admin.zcard(QUEUE) === 1, "it is queued");
  await admin.call("CLIENT", "KILL", "ID", String(await client.client("ID")));
  await until(() => Wakeups.of(client).port.connection.cuts === 1, "the client is cut off");
  await client.ping();
  proxy.resume();
  await until(() => Wakeups.of(client).subscription.open, "it is subscribed");
  await until(async () => await connections(admin, "pubsub") === 1, "there is one connection for wake-ups");
  await until(async () => /^\d+!/.test((await admin.hvals(WAITERS)).join()), "it has asked with its address");
  await holder.release();
  await (await waiting).release();
});

testOnServer("acquire() of a short lease polls within its reservation when it cannot be woken", async ({ server }) => {
  const holders = [server.connect(), server.connect()];
  const client = divert(server.connect(), CLOSED_PORT);
  // A machine that is busy for as long as the reservation lets the other one pass, and for a lease ends that.
  let [inOrder, lost, slow] = [0, 0, 0];
  for (let rounds = 1; inOrder < 3; rounds++) {
    const spoilt = lost + slow;
    assert(rounds - spoilt < 10 && spoilt < 100, `only ${inOrder} of ${rounds} times in order, ${spoilt} spoilt`);
    const lock = await acquire(holders[0]!, "a", { lease: 300 });
    const queued = (count: number) => {
      return until(async () => !lock.held || await holders[0]!.zcard(QUEUE) === count, `${count} are queued`);
    };
    const first = acquire(client, "a", { lease: 300, wait: LIMIT });
    await queued(1);
    const second: Promise<Lock> = acquire(holders[1]!, "a", { lease: 300, wait: LIMIT });
    await queued(2);
    let [passed, isLost] = [false, !lock.held];
    second.then(() => passed = true, () => {});
    const release = (lock: Lock) => {
      return lock.release().catch(({ code }) => {
        assertEquals(code, "lost");
        isLost = true;
      });
    };
    const began = performance.now();
    await release(lock);
    const turn = await first;
    const isSlow = performance.now() - began > 300;
    await release(turn);
    if (!passed && !isLost) inOrder++;
    else if (isSlow && !isLost) slow++;
    await release(await second);
    if (isLost) lost++;
  }
  client.disconnect();
});

testOnServer("acquire() whose second connection fails ends with its time limit", async ({ server }) => {
  const admin = server.connect();
  await admin.set("lock:a", "other", "PX", LEASE);
  const client = divert(server.connect(), CLOSED_PORT);
  const error = await acquire(client, "a", { wait: 300 }).catch((error: unknown) => error);
  assert(error instanceof LockTimeoutError, `${error}`);
  await until(async () => (await server.leftovers()).join() === "lock:a", "nothing is left");
  await subscribed(divert(client, server.port));
});

/** A server that cuts every connection as soon as it is made. */
class Cutter implements AsyncDisposable {
  /** How many it has accepted. */
  accepted = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((socket) => {
      this.accepted++;
      socket.on("error", () => {});
      socket.destroy();
    });
  }

  static async start(): Promise<Cutter> {
    const cutter = new Cutter();
    await new Promise<void>((resolve) => cutter.#server.listen(0, "127.0.0.1", () => resolve()));
    return cutter;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" ? address!.port : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** The originals of what was replaced by `divert`. */
const duplicates = new WeakMap<Redis, Redis["duplicate"]>();

/** Has the second connection of a client made to another port from now on. */
function divert(client: Redis, port: number): Redis {
  const duplicate = duplicates.get(client) ?? client.duplicate.bind(client);
  duplicates.set(client, duplicate);
  client.duplicate = (override) => duplicate({ ...override, port });
  return client;
}

/** How many connections there are to the server, of all types or one. */
async function connections(admin: Redis, type?: "pubsub"): Promise<number> {
  const list = String(await admin.call("CLIENT", "LIST", ...(type === undefined ? [] : ["TYPE", type])));
  return list.split("\n").filter((line) => line !== "").length;
}

/** How many connections were ever made to the server. */
async function connectionsMade(admin: Redis): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1]);
}

// ioredis does not say that it was closed between two connections: for 12 s the attempt may still be answered, and its
// timer would be taken for one of the tests behind this one.
testPhase(LAST, { sanitizeOps: false, sanitizeResources: false });
