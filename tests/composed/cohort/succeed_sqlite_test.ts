import { sqlite } from "@holdfast/lock/sqlite";
import { checkSuccession } from "./succeed.ts";

Deno.test("cohort(sqlite) hands the place of a waiter that gives up to the next one", async () => {
  const directory = Deno.makeTempDirSync({ prefix: "holdfast_" });
  const [mine, other] = [sqlite(`${directory}/locks.db`), sqlite(`${directory}/locks.db`)];
  try {
    await checkSuccession(mine, other);
  } finally {
    mine.close();
    other.close();
    Deno.removeSync(directory, { recursive: true });
  }
});
