import { assert, assertEquals } from "@std/assert";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { release } from "../../../src/stores/redis/commands/holder.ts";
import { vote } from "../../../src/stores/redis/commands/quorum.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { testOnServer } from "./on_server.ts";

const KEYS = lockKeys("lock:a");
const [LOCK, , , HOLDERS] = KEYS;

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

testOnServer("attempt() and vote() make no reservation shorter", async ({ client, store }) => {
  for (const mode of ["exclusive", "shared"] as const) {
    for (const command of ["attempt", "vote"] as const) {
      const [holder, claim] = [claimOf("a", "exclusive", 60_000), claimOf("a", mode, 10)];
      await grant(store, holder);
      await ask(store, claim);
      const given = release.encode(KEYS, holder);
      const waiter = { address: "?holdfast:x", ticket: "1" };
      const claimed = command === "attempt"
        ? attempt.encode(KEYS, { claim, waiter })
        : vote.encode(KEYS, { claim, waiter, guess: 1n, maxClockSkew: 0 });
      const { source } = command === "attempt" ? attempt.script : vote.script;
      // The end of the key, or exactly that of the lease in the list of holders.
      const [read, ...of] = mode === "shared" ? ["ZSCORE", HOLDERS!, claim.owner] : ["PEXPIRETIME", LOCK!];
      // In one transaction: the reservation cannot end meanwhile.
      const results = await client.multi().eval(release.script.source, given.keys.length, ...given.keys, ...given.args)
        .call(read!, ...of).eval(source, claimed.keys.length, ...claimed.keys, ...claimed.args).call(read!, ...of)
        .exec();
      const [, reserved, , kept] = results!.map(([, reply]) => Number(reply));
      assert(kept! >= reserved! - 1, `${command} of a lock that is ${mode}: ${reserved! - kept!} ms less`);
      await client.flushall();
    }
  }
});
