import { PostgresServer, type PostgresServerOptions } from "../../../support/postgres_server.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { until } from "../../../support/until.ts";
import { administer, setUp } from "./administrator.ts";

/** The settings of a server that has each commit on disk. */
export const DURABLE = { "fsync": "on", "autovacuum": "on" };

/** What a standby needs to follow after a pause, soon. */
const FOLLOWED = { "wal_keep_size": "64MB", "wal_retrieve_retry_interval": "200ms" };

/** A server with a standby, which may be promoted in its place. */
export class ReplicatedPostgres implements AsyncDisposable {
  /** Leads to the server that is the primary. */
  readonly address: TcpProxy;
  #primary: PostgresServer;
  #standby: PostgresServer;

  private constructor(address: TcpProxy, primary: PostgresServer, standby: PostgresServer) {
    this.address = address;
    this.#primary = primary;
    this.#standby = standby;
  }

  /** Starts both, with an environment such as that of a clock, and by another program. */
  static async start(options: Pick<PostgresServerOptions, "env" | "startedBy"> = {}): Promise<ReplicatedPostgres> {
    await using stack = new AsyncDisposableStack();
    const start = async () =>
      stack.use(await PostgresServer.start({ settings: { ...DURABLE, ...FOLLOWED }, ...options }));
    const primary = await start();
    await setUp(primary);
    const standby = await start();
    await standby.follow(primary);
    const address = stack.use(await TcpProxy.start(primary.port));
    stack.move();
    return new ReplicatedPostgres(address, primary, standby);
  }

  /** The server that decides now. */
  get primary(): PostgresServer {
    return this.#primary;
  }

  /** Cuts the standby off: what the primary writes from now on is lost when that is promoted. */
  async cutReplication(): Promise<void> {
    await administer(this.#standby.url, async (run) => {
      await run("ALTER SYSTEM SET primary_conninfo = ''");
      await run("SELECT pg_reload_conf()");
      await until(async () => (await run("SELECT FROM pg_stat_wal_receiver")).length === 0, "nothing is received");
    });
  }

  /** Waits until the standby has received all that the primary has written. */
  async caughtUp(): Promise<void> {
    await administer(this.#primary.url, async (run) => {
      const behind = "SELECT FROM pg_stat_replication WHERE flush_lsn >= pg_current_wal_flush_lsn()";
      await until(async () => (await run(behind)).length > 0, "the standby has all");
    });
  }

  /** Kills the primary, and promotes the standby in its place. */
  async failOver(): Promise<void> {
    const [old, promoted] = [this.#primary, this.#standby];
    await old.kill();
    await administer(promoted.url, (run) => run("SELECT pg_promote()"));
    this.address.redirect(promoted.port);
    [this.#primary, this.#standby] = [promoted, old];
  }

  /** Makes the old primary the standby, without what it had and the new one has not. */
  async rejoin(): Promise<void> {
    await this.#standby.follow(this.#primary);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of [this.address, this.#standby, this.#primary]) await each[Symbol.asyncDispose]();
  }
}
