/**
 * A process that runs guarded transactions, whatever happens to them, until the line `end` comes. It prints `guarded
 * FENCE` in each one and waits for a line; then `committed FENCE`, or `failed`. Over postgres.js it prints `closed`
 * when a connection has ended.
 *
 * @module
 */
import { acquire } from "@holdfast/lock";
import { guard } from "@holdfast/lock/guard";
import { memory } from "@holdfast/lock/memory";
import { lines } from "../support/lines.ts";
import { type ClientName, OPEN } from "./databases.ts";

const [client, at] = Deno.args as [ClientName, string];
const database = await OPEN[client](at, () => console.log("closed"));
const store = memory();
const input = lines(Deno.stdin.readable);

for (let line = ""; line !== "end";) {
  const lock = await acquire(store, "a");
  try {
    await database.transaction(async (tx, note) => {
      await guard(tx, lock);
      console.log(`guarded ${lock.fence}`);
      line = (await input.next()).value ?? "end"; // Here its connection may be ended.
      await note(lock.fence);
    });
    console.log(`committed ${lock.fence}`);
  } catch {
    console.log("failed");
  }
  await lock.release();
}
await database[Symbol.asyncDispose]();
Deno.exit(0);
