import type { RedisServer } from "../support/redis_server.ts";
import { until } from "../support/until.ts";

/** The user with which replicas follow their master, so that this can be forbidden. */
const FOLLOWER = "follower";

/** The settings of a server that others can follow, and which can follow others, without a pause before that. */
export const FOLLOWING: string[] = [
  ...["--user", FOLLOWER, "on", ">secret", "+psync", "+replconf", "+ping"],
  ...["--masteruser", FOLLOWER, "--masterauth", "secret"],
  ...["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"],
];

/** Cuts a master's replicas off: they keep what they have, and look healthy, but hear of no further write. */
export async function cutReplication(master: RedisServer): Promise<void> {
  await master.command("ACL", "SETUSER", FOLLOWER, "off");
  await master.command("CLIENT", "KILL", "TYPE", "replica");
  await until(async () => (await replication(master))["connected_slaves"] === "0", "its replicas are cut off");
}

/** Lets them follow it again. */
export async function mendReplication(master: RedisServer): Promise<void> {
  await master.command("ACL", "SETUSER", FOLLOWER, "on");
}

/** What a server says of its replication; nothing when it does not answer. */
export async function replication(server: RedisServer): Promise<Record<string, string>> {
  const info = await server.command("INFO", "replication").catch(() => "");
  return Object.fromEntries(String(info).split("\r\n").map((line) => line.split(":") as [string, string]));
}

/** Whether a server follows another one, and is in step with it. */
export async function inStep(server: RedisServer): Promise<boolean> {
  const { role, master_link_status: link } = await replication(server);
  return role === "slave" && link === "up";
}

/** Starts servers together; all of them are stopped with the stack, also when one fails to start. */
export async function startAll(
  starts: (() => Promise<RedisServer>)[],
  stack: AsyncDisposableStack,
): Promise<RedisServer[]> {
  // A port that was free may be taken a moment later: with so many servers that happens.
  const started = await Promise.allSettled(starts.map((start) => start().catch(start).catch(start)));
  for (const each of started) if (each.status === "fulfilled") stack.use(each.value);
  return started.map((each) => {
    if (each.status === "rejected") throw each.reason;
    return each.value;
  });
}
