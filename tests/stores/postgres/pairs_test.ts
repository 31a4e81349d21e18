// Deno only: it starts a server.
import { assert, assertEquals } from "@std/assert";
import pg from "pg";
import type { WriteResult } from "../../../src/engine/mod.ts";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS } from "../../support/until.ts";
import { connectWith, newSchema } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";
import { cohort } from "@holdfast/lock/cohort";
import { postgres } from "@holdfast/lock/postgres";
import { assertEndsAtOnce } from "../../handoff/objects.ts";

const { server, test } = await sharedServer();

const LEVELS = ["read committed", "repeatable read", "serializable"] as const;

type Write = (backend: PostgresBackend, version: string | null) => Promise<WriteResult<string | null> | number>;

/**
 * What the calls of the engine become: an attempt, a renewal, a release, a steal and an eviction are all one of these.
 */
const WRITES: Readonly<Record<string, Write>> = {
  "a write": (backend, version) => backend.write("a", '{"write":1}', version, {}),
  "a write that notifies": (backend, version) => backend.write("a", '{"write":2}', version, { notify: true }),
  "a write that declares a lease over": (backend, version) => {
    return backend.write("a", '{"write":3}', version, { notBefore: Date.now() - 1_000 });
  },
  "a removal": (backend, version) => backend.remove([{ key: "a", version }]),
};

/** What there is before. */
const STATES = ["absent", "present"] as const;

/** A backend on one connection that is in a transaction, whose statements are committed together. */
async function inTransaction(schema: string, level: string) {
  const client = new pg.Client({ connectionString: server().url });
  await client.connect();
  await client.query(`BEGIN ISOLATION LEVEL ${level}`);
  // As any object with query(text), so that it is not told to be in a transaction.
  const query = { query: (text: string) => client.query(text) };
  const backend = backendOf(query, schema);
  return {
    backend,
    commit: () => client.query("COMMIT"),
    rollback: () => client.query("ROLLBACK"),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** A backend with a schema of its own, in which others write beside it. */
async function newPlace() {
  const { client, ...connection } = connectWith("postgres.js", server().url);
  const schema = await newSchema(client);
  return { ...connection, backend: backendOf(client, schema), schema };
}

function backendOf(client: Parameters<typeof checkPostgresOptions>[0], schema: string): PostgresBackend {
  return new PostgresBackend(client, checkPostgresOptions(client, { schema }), new SystemClock());
}

function isDone(result: WriteResult<string | null> | number): boolean {
  return typeof result === "number" ? result > 0 : result.written;
}

for (const level of LEVELS) {
  for (const state of STATES) {
    for (const [first, runFirst] of Object.entries(WRITES)) {
      for (const [second, runSecond] of Object.entries(WRITES)) {
        // There is nothing to remove.
        if (state === "absent" && first === "a removal") continue;
        test(`lets ${first} win over ${second} at ${level}, row ${state}`, () =>
          pair(level, state, runFirst, runSecond));
      }
    }
  }
}

/** Runs a second write before the first one has committed, and once more after that. */
async function pair(level: string, state: string, runFirst: Write, runSecond: Write): Promise<void> {
  const settings = { "default_transaction_isolation": level };
  await using client = connectWith("pg", server().url, settings);
  const schema = await newSchema(client.client);
  const backend = backendOf(client.client, schema);
  let { version } = await backend.read("a");
  if (state === "present") {
    const written = await backend.write("a", "{}", null, {});
    assert(written.written);
    version = written.version;
  }
  await using transaction = await inTransaction(schema, level);
  assert(isDone(await runFirst(transaction.backend, version)), "the first one is done");
  // After one that was refused, a write is another statement, which returns what is there.
  for (let tries = 0; tries < 2; tries++) {
    const early = await inTime(runSecond(backend, version), HANG_MS, "a statement that waits for no other");
    assert(!isDone(early), "refused: the first one may be committed");
    // What it returns instead would have to be another version, and no other is committed.
    if (typeof early !== "number" && !early.written) assertEquals(early.found, undefined);
  }
  await transaction.commit();
  assert(!isDone(await runSecond(backend, version)), "refused: the first one was committed");
  const now = await backend.read("a");
  assert(now.version !== version, "it is another version");
}

test("PostgresBackend.write() succeeds once what it was refused for was rolled back", async () => {
  await using place = await newPlace();
  const { backend, schema } = place;
  assertEquals((await backend.read("a")).version, null);
  for (const value of ["{}", '{"a":1}']) {
    const { version } = await backend.read("a");
    await using transaction = await inTransaction(schema, "read committed");
    assert(isDone(await transaction.backend.write("a", "{}", version, {})));
    assert(!isDone(await backend.write("a", value, version, {})));
    await transaction.rollback();
    assert(isDone(await backend.write("a", value, version, {})));
  }
});

for (const [what, isFree] of [["a removal", true], ["a write", false]] as const) {
  test(`PostgresBackend.write() for an absent row does not wait for ${what} of it`, async () => {
    await using place = await newPlace();
    const { backend, schema } = place;
    const written = await backend.write("a", "{}", null, {});
    assert(written.written);
    await using transaction = await inTransaction(schema, "read committed");
    assert(isDone(await WRITES[what]!(transaction.backend, written.version)));
    // It has read while there was no row.
    const write = () => inTime(backend.write("a", "{}", null, {}), HANG_MS, "a statement that waits for no other");
    assert(!isDone(await write()));
    await transaction.commit();
    assertEquals(isDone(await write()), isFree);
  });
}

test("PostgresBackend tells the time of a statement, not that of its transaction", async () => {
  await using place = await newPlace();
  const { backend, schema } = place;
  await backend.read("a");
  await using transaction = await inTransaction(schema, "read committed");
  await transaction.backend.read("a");
  const { time } = await transaction.backend.read("a");
  const written = await transaction.backend.write("a", "{}", null, {});
  assert(written.written && written.time! > time!, "later");
});

for (const level of LEVELS) {
  test(`PostgresBackend.write() lets one of many writers win each version at ${level}`, async () => {
    const settings = { "default_transaction_isolation": level };
    await using one = connectWith("pg", server().url, settings);
    await using other = connectWith("postgres.js", server().url, settings);
    const schema = await newSchema(one.client);
    const backends = [one, other].map(({ client }) => backendOf(client, schema));
    let refusals = 0;
    for (let round = 0; round < 30; round++) {
      const { version } = await backends[0]!.read("a");
      const writes = Array.from({ length: 8 }, (_, i) => backends[i % 2]!.write("a", `{"i":${i}}`, version, {}));
      const results = await Promise.all(writes);
      const wins = results.filter(({ written }) => written).length;
      // All may have been refused for one another, at worst.
      assert(wins <= 1, `${wins} writers won version ${version}`);
      const now = await backends[1]!.read("a");
      const winner = results.find(({ written }) => written);
      if (winner?.written) assertEquals(now.version, winner.version);
      refusals += results.length - wins;
    }
    assert(refusals > 100, `${refusals} refusals`);
  });
}

test("steal and evict() end at once what any postgres() of the same pool hands on", async () => {
  await using connected = connectWith("pg", server().url);
  const schema = await newSchema(connected.client);
  const store = () => postgres(connected.client, { schema });
  await using made = cohort(store(), { keep: 60_000 });
  await assertEndsAtOnce([["postgres()", store()], ["a cohort of another one", made]], store());
});
