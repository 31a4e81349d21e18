// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, LockLostError, StoreError } from "@holdfast/lock";
import { guard, type GuardedLock, type Transaction } from "@holdfast/lock/guard";
import { memory } from "@holdfast/lock/memory";
import { type ClientName, CLIENTS, journalOf } from "./databases.ts";
import { isMissing, Place, serve } from "./place.ts";

serve();

/** Returns what `guard()` needs of a lock: tests of it with real locks are in `paused_test.ts`. */
function lockOf(fence: bigint, more: Partial<GuardedLock> = {}): GuardedLock {
  return { name: "a", fence, held: true, mode: "exclusive", permits: undefined, ...more };
}

/** Runs a guarded transaction that writes into the journal. */
function write({ database }: Place, lock: GuardedLock): Promise<void> {
  return database.transaction(async (tx, note) => {
    await guard(tx, lock);
    await note(lock.fence);
  });
}

/** Fences of 16 digits, as stores issue them. */
const [OLD, NEW] = [1_764_087_992_000_123n, 1_764_087_992_000_124n];

for (const client of Object.keys(CLIENTS) as ClientName[]) {
  const test = (name: string, run: (place: Place) => Promise<void>, options?: { tables: boolean }) => {
    const fn = async () => {
      await using place = await Place.open(client, options);
      await run(place);
    };
    Deno.test({ name: `guard() over ${client} ${name}`, fn, ignore: isMissing(client) });
  };

  test("lets a later holder write, and the same one again, and rolls an earlier one back", async (place) => {
    await write(place, lockOf(OLD));
    await write(place, lockOf(OLD));
    await write(place, lockOf(NEW));
    await assertRejects(() => write(place, lockOf(OLD)), LockLostError, "a later holder");
    await write(place, lockOf(NEW));
    assertEquals(await journalOf(place.database), [OLD, OLD, NEW, NEW]);
    assertEquals((await place.database.query("SELECT fence FROM holdfast_guard")).map(String), [`${NEW}`]);
  });

  test("counts only what was committed", async (place) => {
    const rolledBack = place.database.transaction(async (tx) => {
      await guard(tx, lockOf(NEW));
      throw new Error("something else");
    });
    await assertRejects(() => rolledBack, Error, "something else");
    await write(place, lockOf(OLD));
    assertEquals(await journalOf(place.database), [OLD]);
  });

  test("keeps names apart, byte for byte", async (place) => {
    const names = ["a", "A", "a ", "a\0", "\0", "'", "\\", "ä", "\u{1f512}", "é".repeat(512)];
    for (const name of names) await write(place, lockOf(NEW, { name }));
    for (const name of names) {
      await assertRejects(() => write(place, lockOf(OLD, { name })), LockLostError);
    }
  });

  test("rejects outside a transaction", async ({ database }) => {
    for (const tx of await database.outside()) {
      // Twice: to find that out begins none.
      for (let tries = 0; tries < 2; tries++) {
        await assertRejects(() => guard(tx as Transaction, lockOf(OLD)), TypeError, "transaction");
      }
    }
  });

  test("names the statement that makes the table", async ({ database }) => {
    const refused = database.transaction((tx) => guard(tx, lockOf(OLD)));
    const error = await assertRejects(() => refused, StoreError, "There is no table holdfast_guard");
    const [, statement] = error.message.match(/: (CREATE TABLE .*)$/)!;
    await database.query(statement!);
    await database.transaction((tx) => guard(tx, lockOf(OLD)));
  }, { tables: false });

  test("rejects with what else the database says, as it is", async ({ database }) => {
    await database.query("CREATE TABLE holdfast_guard (other int)");
    const error = await assertRejects(() => database.transaction((tx) => guard(tx, lockOf(OLD))), Error, "column");
    assert(!(error instanceof StoreError), error.message);
  }, { tables: false });

  test("rejects when the lock is not held, before it or while it waits", async (place) => {
    await assertRejects(() => write(place, lockOf(OLD, { held: false })), LockLostError, "no longer held");
    const checks = [true, false];
    const losing = Object.defineProperty({ ...lockOf(OLD) }, "held", { get: () => checks.shift() });
    await assertRejects(() => write(place, losing), LockLostError, "no longer held");
    assertEquals(await journalOf(place.database), []);
  });

  // A PGlite, and a file that this process has locked, cannot run two transactions at a time.
  if (client === "pglite" || client === "node:sqlite") continue;

  test("makes a later holder wait for an earlier one, until that has committed", async (place) => {
    const { promise: paused, resolve: resume } = Promise.withResolvers<void>();
    const { promise: guarded, resolve: passed } = Promise.withResolvers<void>();
    const early = place.database.transaction(async (tx, note) => {
      await guard(tx, lockOf(OLD));
      passed();
      await paused;
      await note(OLD);
    });
    await guarded;
    let ended = false;
    const late = write(place, lockOf(NEW)).then(() => ended = true);
    // Another name is none of its business.
    await write(place, lockOf(7n, { name: "b" }));
    assertEquals(ended, false);
    resume();
    await Promise.all([early, late]);
    assertEquals(await journalOf(place.database), [7n, OLD, NEW]);
  });

  test("makes an earlier holder wait for a later one, and rolls it back then", async (place) => {
    const { promise: paused, resolve: resume } = Promise.withResolvers<void>();
    const { promise: guarded, resolve: passed } = Promise.withResolvers<void>();
    const late = place.database.transaction(async (tx, note) => {
      await guard(tx, lockOf(NEW));
      passed();
      await paused;
      await note(NEW);
    });
    await guarded;
    let ended = false;
    const early = assertRejects(() => write(place, lockOf(OLD)), LockLostError).then(() => ended = true);
    await write(place, lockOf(7n, { name: "b" }));
    assertEquals(ended, false);
    resume();
    await Promise.all([early, late]);
    assertEquals(await journalOf(place.database), [7n, NEW]);
  });
}

Deno.test({
  name: "guard() rejects at repeatable read when another one has committed",
  ignore: isMissing("pg"),
  fn: async () => {
    await using place = await Place.open("pg");
    await write(place, lockOf(7n));
    const late = place.database.transaction(async (tx) => {
      const { query } = tx as { query(statement: string): Promise<unknown> };
      await query.call(tx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
      await query.call(tx, "SELECT 1"); // what others commit from here on, it does not see
      await write(place, lockOf(OLD));
      await guard(tx, lockOf(NEW));
    });
    const error: Error & { code?: string } = await assertRejects(() => late, Error);
    assertEquals(error.code, "40001"); // serialization_failure
    assertEquals(await journalOf(place.database), [7n, OLD]);
  },
});

Deno.test("guard() rejects for what is no exclusive lock", async () => {
  await using place = await Place.open("node:sqlite");
  const store = memory();
  await using shared = await acquire(store, "shared", { mode: "shared" });
  await using permit = await acquire(store, "permits", { permits: 1 });
  for (const [lock, says] of [[shared, 'lock "shared" is shared'], [permit, 'lock "permits" has 1 permits']] as const) {
    await assertRejects(() => write(place, lock), TypeError, says);
  }
  // Its getters are called on the Proxy, which has no private fields.
  const proxied = new Proxy(shared, {});
  for (const wrong of [undefined, null, "a", {}, { name: "a", fence: 7 }, [lockOf(OLD)], proxied]) {
    await assertRejects(
      () => place.database.transaction((tx) => guard(tx, wrong as never)),
      TypeError,
      "as acquire() gives it",
    );
  }
  await using lock = await acquire(store, "a", { owner: "me" });
  await write(place, lock);
});

Deno.test("guard() rejects for what is no transaction", async () => {
  for (const wrong of [undefined, null, "BEGIN", {}, () => {}, { getConnection: () => {}, query: () => {} }]) {
    await assertRejects(() => guard(wrong as never, lockOf(OLD)), TypeError, "tx must be what runs the statements");
  }
});

Deno.test("guard() works with what is none of the known clients, if it has query()", async () => {
  const statements: string[] = [];
  const tx = { query: (text: string) => Promise.resolve({ rows: statements.push(text) === 2 ? [{ one: 1 }] : [] }) };
  await guard(tx, lockOf(OLD));
  assert(statements.length === 2 && statements[0]!.startsWith("LOCK TABLE"), statements.join());
  await assertRejects(() => guard(tx, lockOf(NEW, { held: false })), LockLostError);
  assertEquals(statements.length, 2);
});
