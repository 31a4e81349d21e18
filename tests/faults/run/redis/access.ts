import type { Observer } from "../../../../src/contract/events.ts";
import { redlock } from "../../../../src/redlock/mod.ts";
import { serverStore } from "../../../support/server_store.ts";
import { type Access, LOOK_MS } from "../access.ts";
import { Clients } from "./clients.ts";
import type { Evaluator } from "./look.ts";
import { redisView } from "./view.ts";
import type { RedisTarget, Work } from "../work.ts";
import type { Witness } from "../witness.ts";

/** Connects to a store on Redis servers. */
export async function redisAccess(
  work: Work<RedisTarget>,
  witness: Witness,
  observer: Observer,
): Promise<Access> {
  const clients = new Clients();
  const { client, target, direct, commandTimeout } = work;
  const patience = commandTimeout === null ? {} : { commandTimeout, maxRetriesPerRequest: 2 };
  const servers = await clients.connect(client, target, patience);
  const store = target.kind === "redlock"
    ? redlock(servers.map((client) => witness.watchNode(serverStore(client))), { observer })
    : serverStore(servers[0]!, { observer });
  const views = await clients.connect("ioredis", direct, { commandTimeout: LOOK_MS, maxRetriesPerRequest: 0 });
  return {
    store,
    views: views.map((client) => redisView(client as unknown as Evaluator)),
    close: () => clients.close(),
  };
}
