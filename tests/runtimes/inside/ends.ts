/**
 * A program like a user's, with nothing put in the place of what a runtime lacks. It waits to the end of its patience,
 * and then ends by itself, although it still holds a lock that renews itself.
 *
 * @module
 */
import { acquire, type LockError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";

const store = memory();
await acquire(store, "a");
// Nothing else keeps the process alive meanwhile.
await acquire(store, "a", { wait: 100 }).catch((error: LockError) => console.log(error.code));
