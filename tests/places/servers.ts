import { denoKv } from "@holdfast/lock/deno-kv";
import { durableObject } from "@holdfast/lock/durable-object";
import { mysql } from "@holdfast/lock/mysql";
import { postgres } from "@holdfast/lock/postgres";
import { Place as KvPlace } from "../stores/deno_kv/place.ts";
import { ObjectHost } from "../stores/durable_object/host.ts";
import { ignore as noEtcd, Place as EtcdPlace } from "../stores/etcd/place.ts";
import { ignore as noMysql, Place as MysqlPlace } from "../stores/mysql/place.ts";
import { connectWith, newSchema } from "../stores/postgres/clients.ts";
import { findPostgres } from "../support/postgres.ts";
import { PostgresServer } from "../support/postgres_server.ts";
import { FULL, listed, type Place } from "./place.ts";

const DENO_KV: Place = {
  of: "denoKv()",
  capabilities: FULL,
  open: () => {
    const place = new KvPlace("memory");
    return {
      connect: async () => denoKv(await place.open()),
      leftovers: () => place.used(),
      close: () => place[Symbol.dispose](),
    };
  },
};

const DURABLE_OBJECT: Place = {
  of: "durableObject()",
  capabilities: FULL.filter((capability) => capability !== "query"),
  open: () => {
    const host = new ObjectHost();
    return { connect: () => durableObject(host), leftovers: () => host.used(), close: () => {} };
  },
};

let server: PostgresServer | undefined;

const POSTGRES: Place = {
  of: "postgres()",
  capabilities: FULL,
  ignore: "missing" in findPostgres(),
  serve: () => {
    if (POSTGRES.ignore) return;
    Deno.test.beforeAll(async () => void (server = await PostgresServer.start()));
    Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]());
  },
  open: async () => {
    const connected = connectWith("pg", server!.url);
    const schema = await newSchema(connected.client);
    const connect = () => postgres(connected.client, { schema });
    const close = async () => await connected[Symbol.asyncDispose]();
    return { connect, leftovers: () => listed(connect()), close };
  },
};

const MYSQL: Place = {
  of: "mysql()",
  capabilities: FULL,
  ignore: noMysql,
  serve: () => MysqlPlace.serve(),
  open: async () => {
    const place = await MysqlPlace.open();
    return {
      connect: () => mysql(place.pool()),
      leftovers: () => place.used(),
      close: async () => {
        await place.quiet();
        await place[Symbol.asyncDispose]();
      },
    };
  },
};

const ETCD: Place = {
  of: "etcd()",
  capabilities: FULL,
  ignore: noEtcd,
  serve: () => EtcdPlace.serve(),
  open: () => {
    const place = new EtcdPlace();
    return {
      connect: () => place.store(),
      leftovers: () => place.used(),
      close: async () => {
        await place.quiet();
        await place.closed();
      },
    };
  },
};

/** The stores that the tests of a user of the README leave out, but for ZooKeeper, whose tests are one file. */
export const SERVERS: readonly Place[] = [DENO_KV, DURABLE_OBJECT, POSTGRES, MYSQL, ETCD];

/** Those with a server that several processes reach. */
export const SHARED_SERVERS: readonly Place[] = [POSTGRES, MYSQL, ETCD];
