/**
 * A process of contention_sql_test.ts: enters sections on a lock, and raises a counter in each, by a statement that
 * reads it and another one that writes it.
 *
 * @module
 */
import { acquire } from "@holdfast/lock";
import { type ClientName, OPEN } from "../guard/databases.ts";
import { openStoreIn } from "../support/database_store.ts";

/** What it is started with, as JSON. */
export interface SectionOptions {
  readonly client: ClientName;
  readonly url: string;
  readonly listenAt?: string;
  readonly sections: number;
}

const { client, url, listenAt, sections }: SectionOptions = JSON.parse(Deno.args[0]!);
await using opened = await openStoreIn(client, url, listenAt === undefined ? {} : { listenAt });
await using database = await OPEN[client](url);
for (let i = 0; i < sections; i++) {
  await using lock = await acquire(opened.store, "sections");
  // Read and written in two steps: two at a time would lose one.
  const [before] = await database.query("SELECT raised FROM counter");
  await database.query(
    `UPDATE counter SET raised = ${
      Number(before) + 1
    }, falls = falls + CASE WHEN fence < ${lock.fence} THEN 0 ELSE 1 END, ` +
      `fence = ${lock.fence}`,
  );
}
