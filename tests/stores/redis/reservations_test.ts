import { assert, assertEquals } from "@std/assert";
import { release } from "../../../src/stores/redis/commands/holder.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { testOnServer } from "./on_server.ts";

const KEYS = lockKeys("lock:a");

testOnServer(
  "release() reserves the lock as long as its lease was, from 250 ms up to 1.5 s",
  async ({ client, store }) => {
    for (const [lease, reserved] of [[10, 250], [700, 700], [60_000, 1_500]] as const) {
      const [holder, waiter] = [claimOf("a", "exclusive", 60_000), claimOf("a")];
      await grant(store, holder);
      await ask(store, waiter);
      const { keys, args } = release.encode(KEYS, { ...holder, lease });
      // In one transaction, with the server's time before and after: however long it takes, the end lies between them.
      const results = await client.multi().time().eval(release.script.source, keys.length, ...keys, ...args)
        .call("PEXPIRETIME", KEYS[0]).time().exec();
      const [before, released, end, after] = results!.map(([, reply]) => reply) as [string[], number, number, string[]];
      assertEquals([released, await client.get(KEYS[0])], [1, waiter.owner]);
      const [earliest, latest] = [before, after].map(([s, us]) => Number(s) * 1_000 + Math.floor(Number(us) / 1_000));
      const kept = end - reserved;
      assert(earliest! - 1 <= kept && kept <= latest!, `${reserved} ms after ${earliest} to ${latest}: ${end}`);
      await client.flushall();
    }
  },
);
