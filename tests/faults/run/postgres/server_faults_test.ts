// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import pg from "pg";
import { cas } from "../../../../src/engine/mod.ts";
import { claimOf, grant } from "../../../support/claims.ts";
import { findPgbouncer, findPostgres } from "../../../support/postgres.ts";
import { until } from "../../../support/until.ts";
import { pgbouncer } from "../deployments/pgbouncer.ts";
import { postgres } from "../deployments/postgres.ts";
import type { Fault } from "../fault.ts";
import { strikes } from "../strikes.ts";
import { connectTo, USER } from "./connection.ts";
import { postgresLeft } from "./left.ts";

const ignore = "missing" in findPostgres();

/** How long a healthy server may take to answer, in milliseconds: shorter than most pauses. */
const SOON = 150;

const WRITE = "UPDATE holdfast_locks SET version = version";

type Effect = (client: pg.Client, open: () => Promise<pg.Client>) => Promise<unknown>;

const atOnce = (statement: string): Effect => async (client) => {
  const started = performance.now();
  await client.query(statement);
  if (performance.now() - started > SOON) throw new Error("it was frozen");
};

const answers: Effect = (client) => client.query("SELECT 1");

/** What a fault does to a client, on a connection that was open before or on another one. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  "server frozen": atOnce("SELECT 1"),
  "disk stalled": atOnce(WRITE),
  "server killed": answers,
  "connections terminated": answers,
  "too many connections": async (_, open) => {
    const all: pg.Client[] = [];
    try {
      while (all.length < 2) all.push(await open());
    } catch (error) {
      await only("53300", Promise.reject(error));
    } finally {
      for (const each of all) await each.end();
    }
  },
  "rows locked": (client) => only("55P03", client.query("SELECT FROM holdfast_locks FOR UPDATE NOWAIT")),
  "statements timed out": (client) => only("57014", client.query(WRITE)),
  "locks timed out": (client) => only("55P03", client.query(WRITE)),
  "serializable": async (client) => {
    const { rows: [row] } = await client.query("SHOW default_transaction_isolation");
    if (row["default_transaction_isolation"] === "serializable") throw new Error("it was set");
  },
  "deadlocks": (client) => only("40P01", client.query(WRITE)),
  "clock set": async (client) => {
    const before = Date.now();
    const { rows: [row] } = await client.query("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms");
    const ms = Number(row["ms"]);
    if (ms < before - 50 || ms > Date.now() + 50) throw new Error("it was set");
  },
  "standby promoted": answers,
  "writes lost": async (_, open) => {
    // A server that does not answer loses nothing.
    const known = marker;
    const found = await written(open).catch(() => Infinity);
    if (found < known) throw new Error("it was lost");
  },
  "pooler killed": answers,
  "pooler frozen": atOnce("SELECT 1"),
};

/** What was written last that was answered. */
let marker = 0;

/** Writes something new, and returns what was there before. */
async function written(open: () => Promise<pg.Client>): Promise<number> {
  const client = await open();
  try {
    const { rows: [row] } = await client.query("SELECT value FROM holdfast_locks");
    const before = Number(row["value"]) || 0;
    const next = Math.max(before, marker) + 1;
    await client.query(`UPDATE holdfast_locks SET value = '${next}'`);
    marker = next;
    return before;
  } finally {
    await client.end();
  }
}

/** Rejects for one error, and not for others, which other faults would show. */
async function only(state: string, answer: Promise<unknown>): Promise<void> {
  await answer.catch((error: { readonly code?: string }) => {
    if (error.code === state) throw error;
  });
}

/** Lets each fault happen, while a client is connected to a port. */
async function injectAll(t: Deno.TestContext, faults: readonly Fault[], port: number): Promise<void> {
  const open = async () => {
    const client = new pg.Client(`postgres://${USER}@127.0.0.1:${port}/postgres`);
    client.on("error", () => {});
    await client.connect();
    return client;
  };
  const { backend, close } = connectTo({ port }, 5_000);
  const claim = claimOf("a");
  await grant(cas(backend), claim);
  for (const fault of faults) {
    await t.step(fault.kind, async () => {
      const client = await open();
      assert(await strikes(fault, () => EFFECTS[fault.kind]!(client, open)), "the client notices");
      await client.end();
      await until(() => backend.read("a").then(() => true, () => false), "all is well again");
      const { value } = await backend.read("a");
      if (!fault.breach) assert(value?.includes(claim.owner), "nothing was lost");
      const after = await open();
      assertEquals((await after.query(WRITE)).rowCount, 1);
      await after.end();
    });
  }
  close();
}

Deno.test({
  name: "postgres() can do to its servers what it says, and takes it back",
  ignore,
  fn: async (t) => {
    await using deployment = await postgres(["a"]);
    await injectAll(t, deployment.faults, deployment.ports[0]!);
  },
});

Deno.test({
  name: "pgbouncer() can do to the pooler what it says, and takes it back",
  ignore: ignore || "missing" in findPgbouncer(),
  fn: async (t) => {
    await using deployment = await pgbouncer(["a"]);
    await injectAll(t, deployment.faults.filter(({ kind }) => kind.startsWith("pooler")), deployment.ports[0]!);
  },
});

Deno.test({
  name: "postgresLeft() finds a lock that is held, and connections with server and pooler",
  ignore: ignore || "missing" in findPgbouncer(),
  fn: async () => {
    await using deployment = await pgbouncer(["a"]);
    const { server, pooler } = deployment;
    const [pooled, direct] = [pooler, server].map(({ port }) => connectTo({ port }, 5_000));
    const [store, claim] = [cas(pooled!.backend), claimOf("a")];
    await grant(store, claim);
    await direct!.backend.read("a");
    const { entries, connections } = await postgresLeft(server, ["a"], { pooler, wait: 300 });
    assert(/^Cannot acquire lock "a" within 300 ms/.test(entries[0]!), entries[0]);
    assert(connections.some((each) => each.endsWith("with the pooler")), connections.join());
    assert(connections.some((each) => !each.endsWith("with the pooler")), connections.join());
    await store.release(claim);
    for (const { close } of [pooled!, direct!]) close();
    await until(async () => (await postgresLeft(server, [], { pooler })).connections.length === 0, "none is left");
    assertEquals((await postgresLeft(server, ["a"])).entries, []);
  },
});
