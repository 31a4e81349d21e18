import { CutOff } from "../worker.ts";
import { type Behaviour, ms } from "./behaviour.ts";

/** In milliseconds. */
const WATCHED = 8_000;
const QUICK = 500;

/** A majority that is well: is the lock had without the one that hangs? */
export const hungNode: Behaviour = {
  name: "hung_node",
  title: "One of three Redlock servers hangs: how long does it take to get a free lock?",
  suits: ({ peer }) => peer.quorum === true && peer.id !== "bare",
  tuned: false,
  async observe(contender, stage) {
    const servers = await stage.servers(3);
    const worker = await stage.worker(contender, servers.map(({ port }) => port));
    await worker.ask({ do: "within", name: "before", ms: 5_000 }, 30_000);
    servers[0]!.freeze();
    try {
      const { asked, held } = await worker.ask<{ asked: number; held: number }>({ do: "lock", name: "hung" }, WATCHED);
      return { well: held - asked <= QUICK, text: ms(held - asked) };
    } catch (error) {
      return { well: false, text: error instanceof CutOff ? `more than ${ms(WATCHED)}` : `fails: ${error}` };
    } finally {
      servers[0]!.thaw();
    }
  },
};
