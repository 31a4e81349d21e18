import { assertEquals } from "@std/assert";
import type { NodeRedisClient } from "../../../../../src/stores/redis/clients/client.ts";
import { deploymentOf } from "../../../../../src/stores/redis/clients/node_redis/deployment.ts";

Deno.test("deploymentOf() of Sentinels searches and subscribes over the master alone", async () => {
  const asked: unknown[] = [];
  const client = {
    getMasterNode() {},
    sendCommand: (isReadonly: boolean, words: string[]) => Promise.resolve(asked.push([isReadonly, ...words])),
    _execute: (isReadonly: boolean) => Promise.resolve(asked.push(isReadonly)),
  };
  const { masters, duplicates } = deploymentOf(client as unknown as NodeRedisClient);
  // A replica may lack the locks of the last moments.
  for (const { send } of masters) await send(["SCAN", "0"]);
  for (const make of duplicates()) await make();
  assertEquals(asked, [[false, "SCAN", "0"], false]);
});

Deno.test("deploymentOf() of a Cluster subscribes over nodes that are connected first", async () => {
  const node = (address: string, isReady?: boolean) => ({
    address,
    ...isReady !== undefined && { client: { isReady } },
  });
  const orders = new Set<string>();
  for (let i = 0; i < 200; i++) {
    let order = "";
    const client = {
      _options: {},
      masters: [node("0"), node("1", true)],
      replicas: [node("2", false), node("3", true)],
      nodeClient: ({ address }: { readonly address: string }) => {
        order += address;
        return Promise.resolve({ duplicate() {} });
      },
    };
    for (const make of deploymentOf(client as unknown as NodeRedisClient).duplicates()) await make();
    orders.add(order);
  }
  assertEquals([...orders].sort(), ["1302", "1320", "3102", "3120"]);
});
