import type { RedisClient } from "@holdfast/lock";
import { MIN_RESERVATION_MS, RESERVATION_MS } from "../../../src/stores/redis/constants.ts";
import * as scripts from "../../../src/stores/redis/scripts/generated.ts";
import { Wakeups } from "../../../src/stores/redis/wakeups/wakeups.ts";
import { tested } from "./tested.ts";

/** How long the scripts reserve a lock instead, in milliseconds: longer than any test. */
const LONG = 60_000;

/** For how long a script reserves a lock. */
const RESERVED = `math.min(math.max(ms, ${MIN_RESERVATION_MS}), ${RESERVATION_MS})`;

/** The sources of the scripts that reserve a lock, by their SHA-1. */
const SOURCES = new Map(
  Object.values(scripts).filter(({ source }) => source.includes(RESERVED)).map(({ sha, source }) => [sha, source]),
);
if (SOURCES.size === 0) throw new Error("no script reserves a lock");

/**
 * Returns the source of a script that reserves the lock for longer than any test: a machine may stand still for longer
 * than `RESERVATION_MS`, and another waiter would be served then.
 */
export function reservesForLong(source: string): string {
  return source.replace(RESERVED, `${LONG}`);
}

/** Has the scripts of a client reserve a lock for longer than any test. Returns the client. */
export function reservingForLong<Client extends RedisClient>(client: Client): Client {
  const { port } = Wakeups.of(tested(client));
  const [evaluate, evalsha] = [port.eval.bind(port), port.evalsha.bind(port)];
  port.eval = (source, keys, args) => evaluate(reservesForLong(source), keys, args);
  port.evalsha = (...call) => {
    const [sha, keys, args] = call;
    const source = SOURCES.get(sha);
    return source === undefined ? evalsha(...call) : port.eval(source, keys, args);
  };
  return client;
}
