// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { acquire, StoreError } from "@holdfast/lock";
import { mysql } from "@holdfast/lock/mysql";
import mysql2 from "mysql2";
import { connect, createServer, type Server, type Socket } from "node:net";
import { MariadbConnections, Mysql2Connections, type MysqlPool } from "../../../src/stores/mysql/connections.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS } from "../../support/until.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { type ClientName, CLIENTS, ended, Place, test } from "./place.ts";

Place.serve();

for (const client of Object.keys(CLIENTS) as ClientName[]) {
  test(`acquire() over ${client} says that no connection of the pool was free`, async (place) => {
    const pool = place.pool(client, { connectionLimit: 1 });
    const store = mysql(pool);
    await (await acquire(store, "a")).release();
    const connection = await lent(pool);
    await assertRejects(() => acquire(store, "a", { wait: 0 }), StoreError, "no connection of the pool was free");
    await connection.release();
    await (await acquire(store, "a")).release();
    await ended(pool);
  });
}

/** Takes a connection from a pool. */
async function lent(pool: unknown): Promise<{ release(): unknown }> {
  const { promise } = pool as { promise?: () => unknown };
  const promised = (promise?.call(pool) ?? pool) as { getConnection(): Promise<{ release(): unknown }> };
  return await promised.getConnection();
}

for (
  const [client, Connections, message] of [
    ["mysql2", Mysql2Connections, "timeout"],
    ["mariadb", MariadbConnections, "no answer within 300 ms"],
  ] as const
) {
  test(`run() over ${client} closes a connection that was lost, on the server as well`, async (place) => {
    await using proxy = await TcpProxy.start(Place.server.port);
    // mariadb looks at no connection that was just used.
    const unseen = client === "mariadb" ? { minDelayValidation: HANG_MS } : {};
    const pool = CLIENTS[client]({ ...place.options, port: proxy.port, connectionLimit: 1, ...unseen });
    // Only the lost statement gets so little time: on a slow machine the others may need more.
    const [connections, hasty] = [new Connections(pool as MysqlPool), new Connections(pool as MysqlPool, 300)];
    const rows = await connections.run("SELECT CAST(CONNECTION_ID() AS CHAR)");
    const [, id] = /"(\d+)"/.exec(JSON.stringify(rows))!;
    proxy.halfOpen();
    await new Mysql2Connections(place.pool() as MysqlPool).run(`KILL ${id}`);
    await assertRejects(() => hasty.run("DO 0"), Error, message);
    // The pool has one connection, so that this needs a new one.
    await inTime(connections.run("DO 0"), HANG_MS, "an answer");
    // What else the library asks the server is answered by then: a rejection that nobody catches fails this file.
    await delay(500);
    await pool.end();
  });
}

for (
  const [what, error, closed] of [
    ["a statement that was not answered", { code: "PROTOCOL_SEQUENCE_TIMEOUT" }, true],
    ["a server that only reads", { errno: 1290 }, true],
    ["a duplicate name", { errno: 1062, code: "ER_DUP_ENTRY" }, false],
  ] as const
) {
  Deno.test(`run() over mysql2 ${closed ? "closes" : "keeps"} the connection of ${what}`, async () => {
    const calls: string[] = [];
    const connection = {
      query: (query: { timeout: number }) => {
        calls.push(`query ${query.timeout}`);
        return Promise.reject(Object.assign(new Error("refused"), error));
      },
      destroy: () => calls.push("destroy"),
      release: () => calls.push("release"),
    };
    const pool = { getConnection: () => Promise.resolve(connection) } as never;
    await assertRejects(() => new Mysql2Connections(pool).run("DO 0"), Error, "refused");
    assertEquals(calls, ["query 10000", ...closed ? ["destroy"] : [], "release"]);
  });
}

for (const limit of [0, 1]) {
  test(`acquire() names sql_select_limit=${limit}, and advises nothing about the table`, async (place) => {
    await (await acquire(mysql(place.pool()), "a")).release();
    const pool = mysql2.createPool({ ...place.options });
    pool.on("connection", (connection) => connection.query(`SET sql_select_limit = ${limit}`, () => {}));
    const error = await assertRejects(
      () => acquire(mysql(pool), "a"),
      StoreError,
      `sql_select_limit is ${limit}`,
    );
    assert(error.permanent && !/drop|table/i.test(error.message), error.message);
    await pool.promise().end();
  });
}

/** A way to the server that is cut behind so many answers, in the same packet as the last of them. */
class CutAway implements AsyncDisposable {
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();

  constructor(target: number, answers: number) {
    this.#listener = createServer((client) => {
      const server = connect(target, "127.0.0.1");
      let left = answers;
      client.on("data", (request) => server.write(request));
      server.on("data", (answer) => left-- > 1 ? client.write(answer) : client.end(answer));
      for (const [socket, other] of [[client, server], [server, client]] as const) {
        this.#sockets.add(socket);
        socket.on("error", () => {}).on("close", () => (this.#sockets.delete(socket), other.destroy()));
      }
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#listener.listen(0, "127.0.0.1", () => resolve()));
    return (this.#listener.address() as { readonly port: number }).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }
}

/** Cuts a client off behind each of its first answers, and returns the messages of errors that no call gives. */
async function thrownOutside(client: "mysql2" | "mariadb", place: Place, most: number): Promise<string[]> {
  const thrown: string[] = [];
  const note = (event: ErrorEvent) => {
    event.preventDefault();
    thrown.push(event.message);
  };
  globalThis.addEventListener("error", note);
  // The client is cut off before it listens to its connection, or behind that: whichever its event loop does first.
  for (let tries = 0; tries < most && thrown.length === 0; tries++) {
    for (const answers of [1, 2, 3]) {
      await using way = new CutAway(Place.server.port, answers);
      const options = { ...place.options, port: await way.listen(), connectionLimit: 1 };
      const pool = CLIENTS[client](client === "mariadb" ? { ...options, acquireTimeout: 500 } : options);
      await lent(pool).then((connection) => connection.release(), () => {});
      await ended(pool);
    }
  }
  globalThis.removeEventListener("error", note);
  return thrown;
}

test("a pool of mariadb, not of mysql2, throws outside of any call when it is cut off", async (place) => {
  const [message = ""] = await thrownOutside("mariadb", place, 30);
  assert(message.includes("socket has unexpectedly been closed"), message);
  assertEquals(await thrownOutside("mysql2", place, 5), []);
});
