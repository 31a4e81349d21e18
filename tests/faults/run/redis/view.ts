import { type Evaluator, look } from "./look.ts";
import type { View } from "../view.ts";

/** Returns how a server, or a deployment of servers, is seen through a client. */
export function redisView(client: Evaluator): View {
  return { look: (lock, ids) => look(client, lock, ids) };
}
