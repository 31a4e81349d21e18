import type { Random } from "../../../simulation/kernel/random.ts";
import type { PostgresServer } from "../../../support/postgres_server.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { administer } from "./administrator.ts";
import { USER } from "./connection.ts";

/** How long something is wrong, in milliseconds. */
const DURATION = [20, 2_500] as const;

/** The connections of the processes, and of a pooler for them. */
const OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
  "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

/** What lasts while something is wrong. */
type Lasting = () => Promise<void>;

/** Returns what can happen to a server that forgets nothing of what it has committed. */
export function serverFaults(primary: () => PostgresServer): Fault[] {
  const fault = (
    kind: string,
    run: (server: PostgresServer, lasting: Lasting, random: Random) => Promise<unknown>,
  ): Fault =>
    serverFault(kind, false, (random, over) => {
      return run(primary(), () => pause(random.spread(...DURATION), over), random);
    });
  return [
    fault("server killed", async (server, lasting) => {
      await server.kill();
      await lasting();
      await server.start();
    }),
    fault("connections terminated", ({ url }) => administer(url, (run) => run(`${OTHERS} AND random() < 0.5`))),
    fault("too many connections", ({ url }, lasting) =>
      administer(url, async (run) => {
        await run(`ALTER ROLE ${USER} CONNECTION LIMIT 1`);
        await run(`${OTHERS} AND random() < 0.8`);
        await lasting();
        await run(`ALTER ROLE ${USER} CONNECTION LIMIT -1`);
      })),
    fault("rows locked", (server, lasting) => blocking(server, "SELECT FROM holdfast_locks FOR UPDATE", lasting)),
    fault("statements timed out", (server, lasting) => timingOut(server, "statement_timeout", lasting)),
    fault("locks timed out", (server, lasting) => timingOut(server, "lock_timeout", lasting)),
    fault("serializable", ({ url }, lasting) => setting(url, "default_transaction_isolation", "serializable", lasting)),
    fault("deadlocks", ({ url }, lasting, random) =>
      administer(url, async (run) => {
        // What the server says of a statement that was chosen as the victim.
        const state = random.pick(["40P01", "40001"]);
        const when = "BEFORE UPDATE ON holdfast_locks FOR EACH ROW EXECUTE FUNCTION";
        await run(`CREATE TRIGGER victim ${when} victim('${state}')`);
        await lasting();
        await run("DROP TRIGGER victim ON holdfast_locks");
      })),
  ];
}

/** Changes a setting for everybody for a while. */
async function setting(url: string, name: string, value: string, lasting: Lasting): Promise<void> {
  await administer(url, async (run) => {
    const reload = () => run("SELECT pg_reload_conf()");
    await run(`ALTER SYSTEM SET ${name} = '${value}'`);
    await reload();
    await lasting();
    await run(`ALTER SYSTEM RESET ${name}`);
    await reload();
  });
}

/** Lets the server give up all statements for a while that wait for the table. */
async function timingOut(server: PostgresServer, name: string, lasting: Lasting): Promise<void> {
  await setting(server.url, name, "30ms", () => blocking(server, "LOCK TABLE holdfast_locks", lasting));
}

/** Runs a statement in a transaction of somebody else, which lasts for a while. */
async function blocking({ url }: PostgresServer, statement: string, lasting: Lasting): Promise<void> {
  await administer(url, async (run) => {
    await run("BEGIN");
    await run(statement);
    await lasting();
    await run("ROLLBACK");
  });
}

/** What can happen to a primary that has a standby. */
interface Replicated {
  cutReplication(): Promise<void>;
  failOver(): Promise<void>;
  rejoin(): Promise<void>;
}

/** Returns the faults in which a standby is promoted: what it has not received is lost. */
export function promotions(servers: Replicated, mayLose: () => boolean): Fault[] {
  const promotion = (kind: string, lose: (random: Random, over: AbortSignal) => Promise<void>): Fault =>
    serverFault(kind, true, async (random, over, endBreach) => {
      if (!mayLose()) return false;
      await lose(random, over);
      await servers.failOver();
      // The old one is gone, and nothing that was written there comes back.
      endBreach();
      await servers.rejoin();
      return true;
    });
  return [
    promotion("standby promoted", () => Promise.resolve()),
    promotion("writes lost", async (random, over) => {
      await servers.cutReplication();
      await pause(random.spread(10, 1_000), over);
    }),
  ];
}
