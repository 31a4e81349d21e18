import { assertEquals, assertRejects } from "@std/assert";
import { Connection } from "../../../../src/stores/redis/clients/connection.ts";
import { SelectedDatabase } from "../../../../src/stores/redis/clients/node_redis/selected_database.ts";
import { inTime } from "../../../support/in_time.ts";
import { HANG_MS } from "../../../support/until.ts";

function open(number: number, client: object) {
  const connection = new Connection();
  return { connection, database: new SelectedDatabase(client as never, connection, number) };
}

Deno.test("SelectedDatabase.run() trusts no reply over another connection", async () => {
  for (const number of [0, 3]) {
    const { connection, database } = open(number, { isReady: true });
    // Not written before the cut, a command goes out with the next SELECT, which may be refused.
    const ran = database.run(() => {
      connection.cut();
      return Promise.resolve("granted");
    });
    if (number === 0) assertEquals(await ran, "granted");
    else await assertRejects(() => ran, Error, "the connection was cut");
  }
});

Deno.test("SelectedDatabase.run() sends nothing before the client is connected", async () => {
  const client = { isReady: false };
  const { database } = open(3, client);
  const sent: string[] = [];
  const ran = database.run(() => Promise.resolve(sent.push("sent")));
  database.ready();
  await Promise.resolve();
  assertEquals(sent, [], "it is cut off again");
  client.isReady = true;
  database.ready();
  await ran;
});

Deno.test("SelectedDatabase.run() waits as long for a connection as a command may", async () => {
  const { database } = open(3, { isReady: false, _commandOptions: { timeout: 10 } });
  const ran = inTime(database.run(() => Promise.resolve()), HANG_MS, "a refusal");
  await assertRejects(() => ran, Error, "was not connected within 10 ms");
});
