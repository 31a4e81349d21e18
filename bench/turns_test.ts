import { assertEquals } from "@std/assert";
import { takeTurns } from "./turns.ts";

Deno.test("takeTurns() measures each side once a round, and begins with another each time", async () => {
  const order: string[] = [];
  const results = await takeTurns({
    sides: 3,
    rounds: 4,
    measure: (side, round) => {
      order.push(`${round}${"abc"[side]}`);
      return Promise.resolve(round * 10 + side);
    },
  });
  assertEquals(order.join(" "), "0a 0b 0c 1b 1c 1a 2c 2a 2b 3a 3b 3c");
  assertEquals(results, [[0, 10, 20, 30], [1, 11, 21, 31], [2, 12, 22, 32]]);
});
