import type { Attempt, Claim } from "../../contract/store.ts";
import { attempt, type AttemptInput } from "./commands/attempt.ts";
import type { EvictReply } from "./commands/holder.ts";
import type { Connection } from "./clients/connection.ts";

/** How often to try a steal when each time another handle holds the lock: more often than ever needed. */
const MAX_STEALS = 100;

/** Takes the lock from its holders of this moment: others may hold it when a client sends the command again. */
export async function stealWith(
  grant: (command: typeof attempt, input: AttemptInput) => Promise<Attempt>,
  claim: Claim,
  connection: Connection,
): Promise<Attempt> {
  let holders: readonly string[] = [];
  const decode: typeof attempt.decode = (reply, input) => {
    const answer = attempt.decode(reply, input);
    // The reply leaves out those that were named. When another one has come, they still hold the lock.
    if ("others" in answer && answer.others !== undefined) holders = [...holders, ...answer.others];
    return answer;
  };
  const steal: typeof attempt = { ...attempt, once: true, decode };
  const { cuts } = connection;
  for (let tries = 1;; tries++) {
    const answer = await grant(steal, { claim, steal: holders });
    // Cut off meanwhile, the client may have sent a steal twice, and the handle may have been released since.
    const last = tries === MAX_STEALS || cuts !== connection.cuts;
    if (answer.granted || "conflict" in answer || last) return answer;
  }
}

/** Takes the lock from its holders of this moment, or from the selected holders. Resolves to their number. */
export async function evictWith(
  run: (digests: readonly string[]) => Promise<EvictReply>,
  isMeant: (handle: string) => boolean,
  connection: Connection,
): Promise<number> {
  // First the holders are named, so that a command that is sent again takes nothing from later ones.
  const { others } = await run([]);
  const holders = others.filter(({ handle }) => isMeant(handle)).map(({ digest }) => digest);
  if (holders.length === 0) return 0;
  const { cuts } = connection;
  const { evicted } = await run(holders);
  // Cut off meanwhile, the client may have sent it twice: then the first one took the lock away.
  return cuts === connection.cuts ? evicted : holders.length;
}
