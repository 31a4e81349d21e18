import { pause } from "../../../bench/pause.ts";
import { keyAppears } from "../stage.ts";
import { type Behaviour, ms } from "./behaviour.ts";

/** In milliseconds: how long the lock lasts without a renewal, and how long the server says nothing. */
const LEASE = 1_000;
const FROZEN = 3_500;

/** A machine that is busy tells a little later. */
const SLACK = 500;

/** A lease that runs out because the server hangs: is the holder told before somebody else can have the lock? */
export const lostLease: Behaviour = {
  name: "lost_lease",
  title: `The server hangs while a lock of ${ms(LEASE)} is held: when is the holder told that it is lost?`,
  suits: ({ peer }) => !peer.broker && peer.id !== "bare",
  tuned: true,
  async observe(contender, stage) {
    const server = await stage.server();
    const worker = await stage.worker(contender, [server.port]);
    const told = worker.ask<number>({ do: "watch", name: "lease", lease: LEASE }, 60_000);
    told.catch(() => {});
    await keyAppears(server);
    server.freeze();
    const frozen = Date.now();
    const when = await Promise.race([told, pause(FROZEN)]);
    server.thaw();
    if (when === undefined) return { well: false, text: `not within ${ms(FROZEN)}` };
    return { well: when - frozen <= LEASE + SLACK, text: `after ${ms(when - frozen)}` };
  },
};
