import { TcpProxy } from "../../../tests/support/tcp_proxy.ts";
import { pause } from "../../../bench/pause.ts";
import { keyAppears } from "../stage.ts";
import { type Behaviour, ms } from "./behaviour.ts";

/** In milliseconds: how long the lock of the slow one lasts, and that of the other one. */
const LEASE = 500;
const OTHER = 8_000;

/** How long the slow one is watched afterwards. */
const WATCHED = 2_000;

/** An answer that comes after the lease: does the caller believe that it holds the lock? */
export const lateAnswer: Behaviour = {
  name: "late_answer",
  title: `The answer to an acquire with a lease of ${ms(LEASE)} takes longer, and another owner has the lock by then`,
  suits: ({ peer }) => !peer.broker && peer.id !== "bare",
  tuned: true,
  async observe(contender, stage) {
    const server = await stage.server();
    const proxy = stage.use(await TcpProxy.start(server.port));
    const slow = await stage.worker(contender, [proxy.port]);
    const other = await stage.worker(contender, [server.port]);
    // Libraries that connect for each lease anew have done so.
    await slow.ask({ do: "lock", name: "before", lease: LEASE }, 30_000);
    await other.ask({ do: "lock", name: "beside", lease: OTHER }, 30_000);
    const client = server.connect();
    await client.flushall();
    proxy.stall();
    const asked = slow.ask<{ held: number }>({ do: "lock", name: "late", lease: LEASE }, 60_000);
    asked.catch(() => {});
    await keyAppears(server);
    await pause(LEASE);
    await other.ask({ do: "lock", name: "late", lease: OTHER }, 30_000);
    proxy.resume();
    const both = await Promise.race([asked.then(() => true, () => false), pause(WATCHED)]);
    return both ? { well: false, text: "both hold it" } : { well: true, text: "it does not get it" };
  },
};
