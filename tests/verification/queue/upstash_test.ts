// Deno only: it starts a front of HTTP, and takes long.
import { upstash } from "@holdfast/lock/upstash";
import { RedisServer } from "../../support/redis_server.ts";
import { RestFront } from "../../support/rest_front.ts";
import { serverStore } from "../../support/server_store.ts";
import { agrees } from "./agrees.ts";

Deno.test("redis() over upstash() grants what the model of the queue grants, in order", async () => {
  await using server = await RedisServer.start();
  await using front = new RestFront(server.port);
  const store = serverStore(upstash(front.options));
  await agrees(store, { runs: 200, ending: false });
  await agrees(store, { runs: 10, ending: true });
});
