import { assertEquals } from "@std/assert";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const TOLD = 1_764_087_992_000;
const COLUMNS = "name bytea not null, value text not null, version uuid not null";
const TABLE = ["app", "true", "true", "true", "rp", COLUMNS, "true", "true", "Holdfast"];

// The engine counts leases from before a call: the time of the server is that of its statement, which came later.
Deno.test("PostgresBackend.read() takes off the time in which it looked at the table", async () => {
  const clock = new VirtualClock();
  const query = async (text: string) => {
    if (text.includes("current_user")) {
      await clock.sleep(5_000);
      return { rows: [TABLE] };
    }
    const [, mark] = /'([0-9a-f]{32})' AS mark/.exec(text)!;
    return { rows: [[`${TOLD}`, null, null, "false", "true", mark]] };
  };
  const backend = new PostgresBackend({ query }, checkPostgresOptions({ query }, {}), clock);
  const first = backend.read("a");
  await clock.advance(5_000);
  assertEquals((await first).time, TOLD - 5_000);
  assertEquals((await backend.read("a")).time, TOLD);
});
