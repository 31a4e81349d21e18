// Deno only: it tests a tool for Deno.
import { assertEquals, assertRejects } from "@std/assert";
import { acquire, LockLostError } from "@holdfast/lock";
import { RedisServer } from "../../support/redis_server.ts";
import { logKey, Register } from "./register.ts";

for (const fences of [false, true]) {
  Deno.test(`Register ${fences ? "refuses" : "loses updates to"} a holder that comes too late, ${fences ? "by its fence" : "without fences"}`, async () => {
    await using server = await RedisServer.start();
    const client = server.connect();
    const register = new Register(client, fences);
    // Paused for longer than its lease: it neither renews nor looks.
    const late = await acquire(client, "a", { lease: 100, renew: false });
    const read = await register.read("a", late.fence);
    const accepted: boolean[] = [];
    for (let i = 0; i < 3; i++) {
      await using lock = await acquire(client, "a");
      const number = await register.read("a", lock.fence);
      accepted.push(await register.write("a", lock.fence, number! + 1));
    }
    accepted.push(await register.write("a", late.fence, read! + 1));
    assertEquals(accepted, [true, true, true, !fences]);
    assertEquals(await register.read("a", late.fence), fences ? undefined : 1);
    assertEquals(await client.get("number:a"), fences ? "3" : "1", "what is left of the updates");
    const log = await client.lrange(logKey("a"), 0, -1);
    assertEquals(log.map((entry) => entry.split(" ").slice(1, 3).join(" ")), [
      ...["1 1", "2 1", "3 1"],
      ...(fences ? ["1 0", "0 0"] : ["1 1"]),
    ]);
    await assertRejects(() => late.release(), LockLostError);
  });
}
