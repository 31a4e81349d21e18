// Deno only: it tests a tool for Deno.
import { type Connection, createConnection } from "mysql2/promise";
import { assert, assertEquals } from "@std/assert";
import { findMariadb } from "../../../support/mariadb.ts";
import { until } from "../../../support/until.ts";
import { claimOf, grant } from "../../../support/claims.ts";
import { cas } from "../../../../src/engine/mod.ts";
import { mysql } from "../deployments/mysql.ts";
import { strikes } from "../strikes.ts";
import { connectTo, USER } from "./connection.ts";
import { mysqlLeft } from "./left.ts";

const ignore = "missing" in findMariadb();

/** How long a healthy server may take to answer, in milliseconds: shorter than most pauses. */
const SOON = 150;

const WRITE = "UPDATE holdfast_locks SET version = version WHERE name = 'a'";

type Effect = (connection: Connection, open: () => Promise<Connection>) => Promise<unknown>;

const atOnce = (statement: string): Effect => async (connection) => {
  const started = performance.now();
  await connection.query(statement);
  if (performance.now() - started > SOON) throw new Error("it was frozen");
};

/** What a fault does to a client, on a connection that was open before or on another one. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  "server frozen": atOnce("SELECT 1"),
  "disk stalled": atOnce("CREATE OR REPLACE TABLE effect (value INT)"),
  "server killed": (connection) => connection.query("SELECT 1"),
  "KILL of connections": (connection) => connection.query("SELECT 1"),
  "too many connections": async (_, open) => {
    const all: Connection[] = [];
    try {
      while (all.length < 12) all.push(await open());
    } catch (error) {
      if (numberOf(error) === 1040) throw error;
    } finally {
      for (const each of all) each.destroy();
    }
  },
  "rows locked": (connection) => only(1205, connection.query(`SET STATEMENT innodb_lock_wait_timeout=0 FOR ${WRITE}`)),
  "statements timed out": async (_, open) => {
    const connection = await open().catch(() => undefined);
    await only(1969, connection?.query(WRITE));
    connection?.destroy();
  },
  "deadlocks": (connection) => only(1213, connection.query(WRITE)),
  "clock set": async (connection) => {
    const before = Date.now();
    const [[row]] = await connection.query("SELECT UNIX_TIMESTAMP(NOW(6)) * 1000 AS ms") as unknown as [
      { ms: string }[],
    ];
    const ms = Number(row!.ms);
    if (ms < before - 50 || ms > Date.now() + 50) throw new Error("it was set");
  },
};

function numberOf(error: unknown): unknown {
  return (error as { readonly errno?: number }).errno;
}

/** Rejects for one error, and not for others, which other faults would show. */
async function only(errno: number, answer: Promise<unknown> | undefined): Promise<void> {
  await answer?.catch((error: unknown) => {
    if (numberOf(error) === errno) throw error;
  });
}

Deno.test({
  name: "mysql() can do to its server what it says, and takes it back",
  ignore,
  fn: async (t) => {
    await using deployment = await mysql(["a"]);
    const { server } = deployment;
    const open = async () => {
      const connection = await createConnection({ ...server.options, user: USER });
      connection.on("error", () => {});
      return connection;
    };
    const { backend, close } = connectTo(server.port);
    const claim = claimOf("a");
    await grant(cas(backend), claim);
    for (const fault of deployment.faults) {
      await t.step(fault.kind, async () => {
        const connection = await open();
        assert(await strikes(fault, () => EFFECTS[fault.kind]!(connection, open)), "the client notices");
        connection.destroy();
        await until(() => backend.read("a").then(() => true, () => false), "all is well again");
        const { value } = await backend.read("a");
        assert(value?.includes(claim.owner), "nothing was lost");
        const after = await open();
        assertEquals((await after.query(WRITE) as unknown as [{ affectedRows: number }])[0].affectedRows, 1);
        after.destroy();
      });
    }
    close();
  },
});

Deno.test({
  name: "mysqlLeft() finds a lock that is held, and a connection",
  ignore,
  fn: async () => {
    await using deployment = await mysql(["a"]);
    const { server } = deployment;
    const { backend, close } = connectTo(server.port);
    const [store, claim] = [cas(backend), claimOf("a")];
    await grant(store, claim);
    const { entries, connections } = await mysqlLeft(server, ["a"], 300);
    assert(/^Cannot acquire lock "a" within 300 ms/.test(entries[0]!), entries[0]);
    assert(connections.length > 0);
    await store.release(claim);
    close();
    await until(async () => (await mysqlLeft(server, [])).connections.length === 0, "none is left");
    assertEquals((await mysqlLeft(server, ["a"])).entries, []);
  },
});
