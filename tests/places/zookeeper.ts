import type { ZookeeperStore } from "@holdfast/lock/zookeeper";
import { ignore, Place as ZookeeperPlace, threeServers } from "../stores/zookeeper/place.ts";
import { FULL, listed, type Place } from "./place.ts";

/** One server, which the file of the tests starts. */
export const ZOOKEEPER: Place = {
  of: "zookeeper()",
  capabilities: FULL,
  ignore,
  open: () => {
    const place = ZookeeperPlace.open();
    return {
      connect: () => place.connecting(),
      leftovers: () => place.used(),
      close: () => place[Symbol.asyncDispose](),
    };
  },
};

/** Three servers, which it starts as well. The first store lists what is left: no client connects for that alone. */
export const ENSEMBLE: Place = {
  ...ZOOKEEPER,
  open: () => {
    const place = ZookeeperPlace.open(threeServers().address);
    const stores: ZookeeperStore[] = [];
    return {
      connect: () => stores[stores.push(place.connecting()) - 1]!,
      leftovers: () => listed(stores[0]!),
      close: () => place[Symbol.asyncDispose](),
    };
  },
};
