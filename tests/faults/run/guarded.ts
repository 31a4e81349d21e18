import { acquire } from "../../../mod.ts";
import { guard } from "../../../src/guard/mod.ts";
import { memory } from "../../../src/stores/memory/mod.ts";
import { type ClientName, OPEN } from "../../guard/databases.ts";
import type { Random } from "../../simulation/kernel/random.ts";
import { USER as MYSQL_USER } from "./mysql/connection.ts";
import { USER as POSTGRES_USER } from "./postgres/connection.ts";
import type { Target } from "./work.ts";

/** How long a transaction, and the pause behind it, take, in milliseconds. */
const TAKES = [1, 50] as const;

/**
 * Runs guarded transactions on the database of a target, one after the other over each client, until they are finished:
 * whatever happens to the server, the process must not die of it. Not over postgres.js, which ends the process.
 *
 * @param ended called after each transaction with whether it was committed
 */
export async function guarding(
  target: Target,
  random: Random,
  finishing: () => boolean,
  ended: (committed: boolean) => void,
): Promise<void> {
  await Promise.all(
    Object.entries(urlsOf(target)).map(async ([client, url]) => {
      const own = random.fork();
      await using database = await OPEN[client as ClientName](url);
      const [store, name] = [memory(), crypto.randomUUID()];
      while (!finishing()) {
        const lock = await acquire(store, name);
        const transaction = database.transaction(async (tx, note) => {
          await guard(tx, lock);
          await sleep(own);
          await note(lock.fence);
        });
        ended(await transaction.then(() => true, () => false));
        await lock.release();
        await sleep(own);
      }
    }),
  );
}

function urlsOf(target: Target): { readonly [client in ClientName]?: string } {
  if (target.kind === "postgres") return { pg: `postgres://${POSTGRES_USER}@127.0.0.1:${target.port}/postgres` };
  if (target.kind !== "mysql") return {};
  const url = `mysql://${MYSQL_USER}@127.0.0.1:${target.port}/holdfast`;
  return { mysql2: url, "mysql2 with callbacks": url, mariadb: url };
}

function sleep(random: Random): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, random.spread(...TAKES)));
}
