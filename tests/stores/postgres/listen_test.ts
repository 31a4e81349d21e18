// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import pg from "pg";
import connect from "postgres";
import { acquire, type Lock } from "@holdfast/lock";
import {
  type PgClient,
  postgres,
  type PostgresClient,
  type PostgresJsClient,
  type PostgresOptions,
} from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import { aborted } from "../../../src/time/aborted.ts";
import { before, type Clock, type Instant, SystemClock, type Timer } from "../../../src/time/clock.ts";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";
import { inTime } from "../../support/in_time.ts";
import { Pgbouncer } from "../../support/pgbouncer.ts";
import { PostgresServer } from "../../support/postgres_server.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { connectWith, LIBRARIES, type Library, newSchema, pglite, type TestClient } from "./clients.ts";
import { recording, storeOver } from "./place.ts";
import { sharedServer } from "./shared_server.ts";

const { server, test, testWithPooler } = await sharedServer();

/** How often a waiter looks and asks that believes to be woken, in milliseconds. */
const LOOK_MS = 5_000;

/** A clock on which it is never time for such a look: a waiter polls, is woken, or waits for ever. */
class LooklessClock extends SystemClock {
  override timer(ms: number, ...rest: [run: () => void, from?: Instant, latest?: number]): Timer {
    return ms < LOOK_MS ? super.timer(ms, ...rest) : { cancel: () => {} };
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms < LOOK_MS || signal === undefined ? super.sleep(ms, signal) : aborted(signal);
  }
}

/** How long a probe may take, in milliseconds; then it counts as lost, and its store listens no more for a minute. */
const PROBE_MS = 2_000;

/** A clock on which a probe may take as long as it does on the slowest machine. */
class PatientClock extends SystemClock {
  override timer(ms: number, ...rest: [run: () => void, from?: Instant, latest?: number]): Timer {
    return super.timer(ms === PROBE_MS ? HANG_MS : ms, ...rest);
  }
}

/** Returns a clock that stands still, on which timers run all the same: no fault of a store lasts for too long. */
function stillClock(): Clock {
  const clock = new SystemClock();
  const now = clock.now();
  return { now: () => now, timer: (ms, run) => clock.timer(ms, run), sleep: (...args) => clock.sleep(...args) };
}

/** Returns a store on a clock without looks, and what waits there for the lock "a". */
function lookless(client: PostgresClient, options: PostgresOptions) {
  const clock = new LooklessClock();
  const store = storeOver(client, options, clock);
  const settings = checkAcquireOptions({ lease: 60_000 });
  return { store, wait: async (): Promise<Lock> => (await acquireFrom(store, "a", settings, clock))! };
}

/** What the end of a test waits for: closed while it connects, postgres.js leaves a timer behind. */
const RECONNECTED = "postgres.js has connected anew";

/** How long that may take, in milliseconds: it pauses for up to 20 s between two tries. */
const RECONNECTED_MS = HANG_MS;

/** Returns how many connections listen. */
async function listening({ client }: TestClient): Promise<number> {
  return (await runPostgres(client, "SELECT FROM pg_stat_activity WHERE query ILIKE 'listen%'")).length;
}

/**
 * Returns a backend, of which the connection that listens stays open for as long as a test takes between two watches.
 */
function backendOver(client: PostgresClient, options: PostgresOptions): PostgresBackend {
  return new PostgresBackend(client, checkPostgresOptions(client, options), new PatientClock(), 3_000);
}

/**
 * Checks that a write of one backend ends a watch of another one. Nothing looks meanwhile: only a notification does
 * that.
 */
async function assertTold(writer: PostgresBackend, watcher: PostgresBackend, isListening = false): Promise<void> {
  const watch = (version: string | null) => {
    return inTime(watcher.watch!("a", version, new AbortController().signal), HANG_MS, "a notification");
  };
  const { version } = await watcher.read("a");
  // It ends when the connection listens.
  if (!isListening) await watch(version);
  await watcher.read("a");
  const told = watch(version);
  assert((await writer.write("a", "{}", version, { notify: true })).written);
  await told;
}

/** The settings of a server that soon takes no more. */
const FEW_CONNECTIONS = { "max_connections": "5", "superuser_reserved_connections": "0", "max_wal_senders": "0" };

/** Connects until the server takes no more connections. */
async function takeAll({ url }: PostgresServer): Promise<pg.Client[]> {
  const others: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client(url);
    client.on("error", () => {});
    if (!await client.connect().then(() => true, () => false)) return others;
    others.push(client);
  }
}

for (const library of LIBRARIES) {
  test(`watch() over ${library} ends by a notification alone when another process writes`, async () => {
    await using one = connectWith(library, server().url);
    await using other = connectWith(library, server().url);
    const schema = await newSchema(one.client);
    const [a, b] = [one, other].map(({ client, listen }) => backendOver(client, { schema, listen }));
    await assertTold(a!, b!);
    await until(() => other.listening() === 0, "the connection is closed");
  });

  test(`watch() over ${library} ends with its connection, and the next one listens`, async () => {
    await using one = connectWith(library, server().url);
    await using other = connectWith(library, server().url);
    const schema = await newSchema(one.client);
    const [a, b] = [one, other].map(({ client, listen }) => backendOver(client, { schema, listen }));
    await assertTold(a!, b!);
    const { version } = await b!.read("a");
    const lost = b!.watch!("a", version, new AbortController().signal);
    const listeners = (what: string) => {
      return runPostgres(one.client, `SELECT ${what} FROM pg_stat_activity WHERE query ILIKE 'listen%'`);
    };
    const [former] = await listeners("min(pid)");
    await listeners("pg_terminate_backend(pid)");
    await inTime(lost, HANG_MS, "the end of a watch");
    // postgres.js connects anew by itself; over pg the next watch does that.
    const reconnects = library === "postgres.js";
    const isNew = async () => (await listeners("pid")).some(([pid]) => pid !== former![0]);
    if (reconnects) await until(isNew, RECONNECTED, RECONNECTED_MS);
    await assertTold(a!, b!, reconnects);
    await until(() => other.listening() === 0, "the connection is closed");
  });

  test(`acquire() over ${library} that waits goes on after a restart`, async () => {
    await using own = await PostgresServer.start();
    await using one = connectWith(library, own.url);
    await using other = connectWith(library, own.url);
    const schema = await newSchema(one.client);
    const [a, b] = [postgres(one.client, { schema }), postgres(other.client, { schema, listen: other.listen })];
    const lock = await acquire(a, "a", { lease: 600_000 });
    // It may take longer than the 10 s for which a waiter bears faults.
    const waiting = acquireFrom(b, "a", checkAcquireOptions({ lease: 60_000 }), stillClock());
    await until(async () => (await a.query()).pending.length === 1 && await listening(one) > 0, "it listens");
    await own.kill();
    await own.start();
    await until(() => lock.release().then(() => true, () => false), "it is released");
    await (await inTime(waiting, HANG_MS, "a look every 5 s"))!.release();
    if (library === "postgres.js") await until(async () => await listening(one) > 0, RECONNECTED, RECONNECTED_MS);
    await until(() => other.listening() === 0, "the connection is closed");
  });

  test(`acquire() over ${library} whose server takes no more connections polls`, async () => {
    await using own = await PostgresServer.start({ settings: FEW_CONNECTIONS });
    await using one = connectWith(library, own.url);
    await using other = connectWith(library, own.url);
    const schema = await newSchema(one.client);
    const a = postgres(one.client, { schema });
    const { store, wait } = lookless(other.client, { schema, listen: other.listen });
    const lock = await acquire(a, "a", { lease: 60_000 });
    await (await acquire(store, "b")).release();
    const others = await takeAll(own);
    const waiting = wait();
    await until(async () => (await a.query()).pending.length === 1, "it waits");
    await lock.release();
    await (await inTime(waiting, HANG_MS, "a poll")).release();
    for (const client of others) await client.end();
    if (library === "postgres.js") await until(async () => await listening(one) > 0, RECONNECTED, RECONNECTED_MS);
    await until(() => other.listening() === 0, "no connection is left");
  });
}

test("acquire() over postgres.js listens once, although that fails at first", async () => {
  await using own = await PostgresServer.start({ settings: FEW_CONNECTIONS });
  await using one = connectWith("pg", own.url);
  await using other = connectWith("postgres.js", own.url);
  const sql = other.client as PostgresJsClient;
  const { listen } = sql;
  let [calls, statements, lastAt] = [0, 0, 0];
  sql.listen = (...args) => {
    calls++;
    return listen!(...args);
  };
  const query = async (text: string) => {
    statements++;
    lastAt = performance.now();
    return { rows: await runPostgres(sql, text) };
  };
  const schema = await newSchema(one.client);
  const { store, wait } = lookless({ query }, { schema, listen: sql });
  const lock = await acquire(postgres(one.client, { schema }), "a", { lease: 60_000 });
  await (await acquire(store, "b")).release();
  const others = await takeAll(own);
  const waiting = wait();
  const before = statements;
  await until(() => statements - before > 10, "it polls", HANG_MS);
  for (const client of others) await client.end();
  await until(async () => await listening(one) > 0, RECONNECTED, RECONNECTED_MS);
  // For a minute it polls even then, if its probe was late.
  await until(() => performance.now() - lastAt > 1_500, "it polls no more", 2 * HANG_MS);
  await lock.release();
  await (await inTime(waiting, HANG_MS, "a wake-up")).release();
  assertEquals(calls, 1);
});

/** A clock that can be set forward, as if nothing had happened for some time. */
class ShiftedClock extends SystemClock {
  shiftMs = 0;

  override now(): Instant {
    return before(super.now(), -this.shiftMs);
  }
}

/** Returns a backend that listens through a proxy with what another client has. */
async function backendThrough(proxy: TcpProxy, library: Library) {
  const one = connectWith("pg", server().url);
  const other = connectWith(library, server().url.replace(`:${server().port}`, `:${proxy.port}`));
  const listen = library === "pg" ? other.listen : other.client as PostgresJsClient;
  const settings = checkPostgresOptions(one.client, { schema: await newSchema(one.client), listen });
  const clock = new ShiftedClock();
  const backend = new PostgresBackend(one.client, settings, clock, 3_000);
  return {
    clock,
    backend,
    /** Writes as another process does. */
    write: async () => {
      const another = new PostgresBackend(one.client, { ...settings, listen: undefined }, clock);
      assert((await another.write("a", "{}", null, { notify: true })).written);
    },
    /** Resolves when a watch ends. */
    watch: async (signal = new AbortController().signal) => {
      await backend.read("a");
      await inTime(backend.watch!("a", null, signal), HANG_MS, "the end of a watch");
    },
    isListening: async () => await listening(one) > 0,
    [Symbol.asyncDispose]: async () => {
      proxy.resume();
      await until(() => other.listening() === 0, "the connection is closed");
      await other[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
    },
  };
}

for (const library of LIBRARIES) {
  test(`watch() over ${library} ends when the connection was lost in silence`, async () => {
    await using proxy = await TcpProxy.start(server().port);
    await using through = await backendThrough(proxy, library);
    const { watch, clock } = through;
    await watch();
    const first = new AbortController();
    const watching = watch(first.signal);
    proxy.halfOpen();
    clock.shiftMs = 30_000;
    first.abort();
    await watching;
    // It ends, since something may have been missed. Then there is another connection, or waiters are to poll.
    await watch();
    await watch();
    if (library === "postgres.js") return void await assertRejects(() => watch(), Error, "no notification comes");
    const woken = watch();
    await until(through.isListening, "it listens");
    await through.write();
    await woken;
  });

  test(`watch() over ${library} fails while there is no connection yet`, async () => {
    await using proxy = await TcpProxy.start(server().port);
    proxy.stall();
    await using through = await backendThrough(proxy, library);
    const { watch, clock, backend } = through;
    await backend.read("a");
    const first = new AbortController();
    const watching = backend.watch!("a", null, first.signal);
    clock.shiftMs = 5_000;
    await assertRejects(() => watch(), Error, "not there yet");
    first.abort();
    await watching;
  });
}

Deno.test({
  name: "watch() on a PGlite ends by a notification alone when another store writes",
  fn: async () => {
    await using database = pglite();
    const [a, b] = [1, 2].map(() => backendOver(database.client, { listen: true }));
    await assertTold(a!, b!);
  },
});

Deno.test("PostgresBackend.watch() does not connect for a caller that has given up", async () => {
  let made = 0;
  const listen = () => {
    made++;
    return new pg.Client({ host: "127.0.0.1", port: 1 }) as PgClient;
  };
  const client = { query: () => Promise.resolve({ rows: [] }) };
  const backend = new PostgresBackend(client, checkPostgresOptions(client, { listen }), new SystemClock());
  await backend.watch!("a", null, AbortSignal.abort());
  assertEquals(made, 0);
});

test("renew() and release() notify nobody where nobody waits", async () => {
  await using connected = connectWith("pg", server().url);
  const schema = await newSchema(connected.client);
  const { client, statements } = recording(connected.client);
  const store = postgres(client, { schema });
  const lock = await acquire(store, "a");
  await lock.extend(20_000);
  await lock.release();
  assertEquals(statements.filter((text) => text.includes("pg_notify")), []);
});

for (const library of LIBRARIES) {
  testWithPooler(`watch() over ${library} through pgbouncer in session mode ends by a notification`, async () => {
    await using pooler = await Pgbouncer.start(server(), "session");
    await using one = connectWith(library, server().url);
    await using other = connectWith(library, pooler.url);
    const schema = await newSchema(one.client);
    const { client, listen } = other;
    await assertTold(backendOver(one.client, { schema }), backendOver(client, { schema, listen }));
    await until(() => other.listening() === 0, "the connection is closed");
  });

  testWithPooler(`acquire() over ${library} through pgbouncer polls, although it is to listen`, async () => {
    await using pooler = await Pgbouncer.start(server(), "transaction");
    await using admin = connectWith(library, server().url);
    await using one = connectWith(library, pooler.url);
    await using other = connectWith(library, pooler.url);
    const schema = await newSchema(admin.client);
    let statements = 0;
    const counted = {
      query: async (text: string) => {
        statements++;
        return { rows: await runPostgres(other.client, text) };
      },
    };
    const listen = library === "pg" ? other.listen : other.client as PostgresJsClient;
    const a = postgres(one.client, { schema });
    const lock = await acquire(a, "a", { lease: 60_000 });
    const waiting = lookless(counted, { schema, listen }).wait();
    await until(async () => (await a.query()).pending.length === 1, "it waits");
    const before = statements;
    // It finds out within 2 s that no notification comes.
    await until(() => statements - before >= 8, "it polls", HANG_MS);
    await lock.release();
    await (await inTime(waiting, HANG_MS, "a poll")).release();
    await until(() => other.listening() === 0, "the connection is closed");
  });
}

testWithPooler("watch() through pgbouncer ends by a notification over a direct connection", async () => {
  await using pooler = await Pgbouncer.start(server(), "transaction");
  const direct = connect(server().url, { max: 1 });
  await using admin = connectWith("pg", server().url);
  const schema = await newSchema(admin.client);
  await using one = connectWith("postgres.js", pooler.url);
  await using other = connectWith("pg", pooler.url);
  let ends = 0;
  const listener = () => {
    const client = new pg.Client(server().url);
    client.once("end", () => ends++);
    return client as PgClient;
  };
  try {
    const a = backendOver(one.client, { schema, listen: direct as unknown as PostgresJsClient });
    const b = backendOver(other.client, { schema, listen: listener });
    await assertTold(a, b);
    await assertTold(b, a);
    await until(() => ends > 0, "the connection is closed");
    assert(ends > 0);
  } finally {
    await direct.end();
  }
});

test("postgres() leaves no connection when its client is closed", async () => {
  await using admin = connectWith("pg", server().url);
  const count = async () => {
    const others = "SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    return (await runPostgres(admin.client, others)).length;
  };
  const schema = await newSchema(admin.client);
  for (const library of LIBRARIES) {
    const connected = connectWith(library, server().url);
    const store = postgres(connected.client, { schema, listen: connected.listen });
    const lock = await acquire(store, "a");
    const waiting = acquire(store, "a");
    lock.signal.throwIfAborted();
    await until(async () => await listening(admin) > 0, "it listens");
    await lock.release();
    await (await waiting).release();
    await connected[Symbol.asyncDispose]();
    await until(async () => await count() === 0, "no connection is left");
  }
});
