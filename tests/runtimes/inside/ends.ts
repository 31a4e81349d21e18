/**
 * A program like a user's, with nothing put in the place of what a runtime lacks. It goes on while it waits for locks,
 * and then ends by itself, although it still holds some.
 *
 * @module
 */
import { acquire, type LockError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import { Redis } from "ioredis";

const [kind = "", address = ""] = process.argv.slice(2);
const client = kind === "redis" ? new Redis(Number(address), "127.0.0.1") : undefined;
const target = client ?? (kind === "sqlite" ? sqlite(address) : memory());

// It renews itself.
await acquire(target, "a");
// Nothing but the wait keeps the process alive.
await acquire(target, "a", { wait: 100 }).catch((error: LockError) => console.log(error.code));
await acquire(target, "b", { lease: 300, renew: false });
// Not awaited: at the top level a runtime may wait by itself.
acquire(target, "b").then(() => {
  console.log("served");
  client?.disconnect();
});
