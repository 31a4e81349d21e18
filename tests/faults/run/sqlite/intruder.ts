/**
 * A program that uses the file of the locks for something else, as others may. Its argument is the path; it executes
 * each line that it reads, and writes a line when that is done.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { lines } from "../../../support/lines.ts";

const database = new DatabaseSync(Deno.args[0] ?? "");
// It waits for its turn for as long as a run may be busy. With so few pages in memory it writes before it commits.
database.exec("PRAGMA busy_timeout = 20000; PRAGMA cache_size = 10");
for await (const line of lines(Deno.stdin.readable)) {
  try {
    database.exec(line);
    console.log("done");
  } catch (error) {
    console.log(String(error));
  }
}
database.close();
