import { mysql } from "@holdfast/lock/mysql";
import { postgres } from "@holdfast/lock/postgres";
import { ignore as noEtcd, Place as EtcdPlace } from "../stores/etcd/place.ts";
import { ignore as noMysql, Place as MysqlPlace } from "../stores/mysql/place.ts";
import { connectWith, newSchema } from "../stores/postgres/clients.ts";
import { findPostgres } from "../support/postgres.ts";
import { PostgresServer } from "../support/postgres_server.ts";
import { FULL, listed, type Place } from "./place.ts";

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

/** The stores with a server of their own, but for Redis, and for ZooKeeper, whose tests are one file. */
export const SERVERS: readonly Place[] = [POSTGRES, MYSQL, ETCD];
