// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assertEquals } from "@std/assert";
import { abandonAttempts, giveUpTheTurn, missTheTurn, tellWrongTime } from "./directed.ts";

Deno.test("cas() leaves nothing behind of an attempt that is executed when it was abandoned", async () => {
  assertEquals(await abandonAttempts(), []);
});

Deno.test("cas() lets nobody sleep whose turn it is because another one has given up", async () => {
  assertEquals(await giveUpTheTurn(), []);
});

Deno.test("cas() grants nobody a lock by a wrong time while the longest lease lasts", async () => {
  assertEquals(await tellWrongTime(), []);
});

Deno.test("cas() gives all waiters of a process that missed its turn their places back", async () => {
  assertEquals(await missTheTurn(), []);
});
