/**
 * A part of the store suite on ZooKeeper, over the sockets that the runtime has.
 *
 * @module
 */
import { zookeeper, type ZookeeperClient } from "@holdfast/lock/zookeeper";
import { createClient } from "node-zookeeper-client";
import { partOfSuite } from "../../support/part_of_suite.ts";
import { patient } from "../../support/patient.ts";
import { settings } from "./settings.ts";

partOfSuite({
  test: (name, run) => Deno.test(`zookeeper() over sockets here: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences"],
  open: () => {
    const options = { path: `/${crypto.randomUUID()}` };
    const connect = async () => {
      const store = zookeeper(settings.zookeeper, options);
      // It is connected then.
      await store.query();
      return patient(store);
    };
    const leftovers = async () => {
      const { held, pending } = await zookeeper(settings.zookeeper, options).query();
      return [...held, ...pending].map(({ name }) => name);
    };
    return { connect, leftovers, close: () => {} };
  },
});

partOfSuite({
  test: (name, run) => Deno.test(`zookeeper() here: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences"],
  open: () => {
    const clients: (ZookeeperClient & { close(): void })[] = [];
    const options = { path: `/${crypto.randomUUID()}` };
    const connect = async () => {
      const client = createClient(settings.zookeeper);
      client.connect();
      clients.push(client);
      const store = zookeeper(client, options);
      // It is connected then: not only leases begin late otherwise, it also could not be closed.
      await store.query();
      return patient(store);
    };
    return {
      connect,
      leftovers: async () => {
        const { held, pending } = await (await connect()).query();
        return [...held, ...pending].map(({ name }) => name);
      },
      close: () => {
        for (const client of clients) client.close();
      },
    };
  },
});
