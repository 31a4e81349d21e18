import { ignore, Place as ZookeeperPlace, threeServers } from "../stores/zookeeper/place.ts";
import { FULL, type Place } from "./place.ts";

/** One server, which the file of the tests starts. */
export const ZOOKEEPER: Place = {
  of: "zookeeper()",
  capabilities: FULL,
  ignore,
  open: () => opened(ZookeeperPlace.open()),
};

/** Three servers, which it starts as well. */
export const ENSEMBLE: Place = { ...ZOOKEEPER, open: () => opened(ZookeeperPlace.open(threeServers().address)) };

function opened(place: ZookeeperPlace) {
  return {
    connect: () => place.connecting(),
    leftovers: () => place.used(),
    close: () => place[Symbol.asyncDispose](),
  };
}
