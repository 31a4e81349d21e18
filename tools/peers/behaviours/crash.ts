import { pause } from "../../../bench/pause.ts";
import { keyAppears } from "../stage.ts";
import { type Behaviour, ms } from "./behaviour.ts";

/** In milliseconds. */
const LEASE = 1_000;
const WATCHED = 4_000;

/** A lock that is gone when it is to be renewed: does the process live on? */
export const crash: Behaviour = {
  name: "crash",
  title: "The key of a held lock is gone at the next renewal: what becomes of a process with the default settings?",
  suits: ({ peer }) => peer.interval !== undefined,
  tuned: false,
  async observe(contender, stage) {
    const server = await stage.server();
    const worker = await stage.worker(contender, [server.port], false);
    const watching = worker.ask({ do: "watch", name: "lease", lease: LEASE }, 60_000);
    let told = false;
    const over = watching.then(() => told = true, () => {});
    await keyAppears(server);
    const client = server.connect();
    await client.flushall();
    await Promise.race([over, pause(WATCHED)]);
    // What kills it may come a moment after it was told.
    await pause(200);
    if (worker.code !== undefined) return { well: false, text: `it ends: ${worker.lastError()}` };
    return { well: told, text: told ? "it is told" : `it runs on, and is not told within ${ms(WATCHED)}` };
  },
};
