import { createPool, type RowDataPacket } from "mysql2/promise";
import { acquire } from "@holdfast/lock";
import type { Backend } from "@holdfast/lock/cas";
import { SystemClock } from "../src/time/clock.ts";
import { EtcdGateway } from "../src/stores/etcd/gateway.ts";
import { checkEtcdOptions } from "../src/stores/etcd/options.ts";
import { EtcdBackend } from "../src/stores/etcd/store.ts";
import { checkMysqlOptions } from "../src/stores/mysql/options.ts";
import { MysqlBackend } from "../src/stores/mysql/store.ts";
import { checkPostgresOptions, type PostgresJsClient } from "../src/stores/postgres/options.ts";
import { PostgresBackend } from "../src/stores/postgres/store.ts";
import { ZookeeperBackend } from "../src/stores/zookeeper/store.ts";
import { EtcdServer } from "../tests/support/etcd_server.ts";
import { MariadbServer } from "../tests/support/mariadb_server.ts";
import { closeClient, connected, ZookeeperServer } from "../tests/support/zookeeper_server.ts";
import { etcdCounts } from "./etcd.ts";
import type { Figure } from "./figure.ts";
import { BenchPostgres, storeOf } from "./postgres.ts";
import type { Bench, Row } from "./row.ts";
import { compare } from "./uncontended.ts";
import { type NamesPlace, weeks } from "./weeks.ts";

/**
 * How many names have a document in each table; `--quick` has a seventh of the many. Even the few are so many that no
 * name is used twice, which would cost no read.
 */
const [FEW, MANY] = [20_000, 1_000_000];

/** How many nodes of ZooKeeper have no lock: its own, and the directories. */
const ZOOKEEPER_NODES = 64 * 65 + 5;

/** Measures what becomes of very many names in PostgreSQL, and whether the store is slower beside them. */
export async function names(bench: Bench): Promise<Figure[]> {
  return [...await besideMany(bench), ...await used(inPostgres)(bench)];
}

/** Measure what becomes of very many names elsewhere. */
export const [namesInMariadb, namesInEtcd, namesInZookeeper] = [used(inMariadb), used(inEtcd), used(inZookeeper)];

function used(start: (bench: Bench) => Promise<NamesPlace>): Row {
  return async (bench) => await weeks(await start(bench), Math.round(MANY / 4 * bench.scale), bench);
}

async function inPostgres(bench: Bench): Promise<NamesPlace> {
  const client = (await BenchPostgres.start(bench, { "autovacuum": "on", "autovacuum_naptime": "1s" })).connect();
  const settings = checkPostgresOptions(client as unknown as PostgresJsClient, {});
  const backend = new PostgresBackend(client as unknown as PostgresJsClient, settings, new SystemClock()) as Backend;
  const size = async () => {
    const [row] = await client.unsafe<{ documents: number; bytes: number }[]>(
      "SELECT count(*)::float8 AS documents, pg_total_relation_size('holdfast_locks')::float8 AS bytes FROM holdfast_locks",
    );
    return row!;
  };
  return { name: "PostgreSQL", backend, size };
}

async function inMariadb({ stack }: Bench): Promise<NamesPlace> {
  const server = stack.use(await MariadbServer.start());
  const pool = createPool(server.options);
  stack.defer(() => pool.end());
  const { connections, table } = checkMysqlOptions(pool, {});
  const size = async () => {
    await pool.query("ANALYZE TABLE holdfast_locks");
    const [[row]] = await pool.query<RowDataPacket[]>(
      "SELECT (SELECT count(*) FROM holdfast_locks) AS documents, DATA_LENGTH + INDEX_LENGTH AS bytes " +
        "FROM information_schema.TABLES WHERE TABLE_NAME = 'holdfast_locks'",
    );
    return { documents: Number(row!["documents"]), bytes: Number(row!["bytes"]) };
  };
  return { name: "MariaDB", backend: new MysqlBackend(connections, table) as Backend, size };
}

async function inEtcd({ stack }: Bench): Promise<NamesPlace> {
  const server = stack.use(await EtcdServer.start());
  const options = checkEtcdOptions({ endpoints: [server.url] });
  const clock = new SystemClock();
  const gateway = new EtcdGateway(options, clock);
  const size = async () => {
    const range = { key: btoa("holdfast/"), "range_end": btoa("holdfast0"), "count_only": true };
    const { count, header } = await gateway.call<{ count: string; header: { revision: string } }>(
      "/v3/kv/range",
      range,
    );
    // It takes longer than the store gives a request.
    const body = JSON.stringify({ revision: header.revision, physical: true });
    await (await fetch(`${server.url}/v3/kv/compaction`, { method: "POST", body })).text();
    return { documents: Number(count), bytes: (await etcdCounts(server.url))["used"]! };
  };
  return { name: "etcd", backend: new EtcdBackend(gateway, options.prefix, clock) as Backend, size };
}

async function inZookeeper({ stack }: Bench): Promise<NamesPlace> {
  const server = stack.use(await ZookeeperServer.start({ java: ["-Xmx1500m"] }));
  const client = connected(server.address);
  stack.defer(() => closeClient(client));
  const size = async () => ({
    documents: await server.figure("zk_znode_count") - ZOOKEEPER_NODES,
    bytes: await server.figure("zk_approximate_data_size"),
  });
  return { name: "ZooKeeper", backend: new ZookeeperBackend(client, "/holdfast") as Backend, size };
}

/** Measures the engine on a table with very many names beside one with few, in PostgreSQL. */
async function besideMany(bench: Bench): Promise<Figure[]> {
  const client = (await BenchPostgres.start(bench)).connect(1);
  const many = Math.round(MANY * bench.scale);
  const section = async (table: string, count: number) => {
    const store = storeOf(client, { table });
    // Makes the table.
    await store.query!({ name: "a" });
    bench.progress(`writes ${count} names`);
    await client.unsafe(filled(table, count));
    await client.unsafe(`VACUUM ANALYZE ${table}`);
    let next = 0;
    return async () => {
      next = (next + 7_919) % count;
      await using _lock = await acquire(store, `name ${next}`);
    };
  };
  const [few, manyNames] = [await section("few", FEW), await section("many", many)];
  return [
    await compare(
      {
        what: `PostgreSQL with ${many.toLocaleString("en")} names: acquire + release of any of them`,
        ours: manyNames,
        reference: few,
        against: `with ${FEW.toLocaleString("en")}`,
        target: { bound: "at least", value: 0.9 },
      },
      { loops: 1, pairs: 200, seconds: 7 },
      bench,
    ),
  ];
}

/** Returns the statement that writes documents of locks that nobody holds, as they are left by a release. */
function filled(table: string, count: number): string {
  const document = `'{"holdfast":1,"name":"name ' || i || '","fence":"1700000000000000","counter":7,` +
    `"used":1700000000000,"holders":[],"queue":[]}'`;
  return `INSERT INTO ${table} (name, value, version) SELECT convert_to('name ' || i, 'UTF8'), ${document}, ` +
    `gen_random_uuid() FROM generate_series(0, ${count - 1}) AS i`;
}
