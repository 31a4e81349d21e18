import { CutOff } from "../worker.ts";
import { type Behaviour, ms } from "./behaviour.ts";

/** In milliseconds: how long the caller wants to wait, and how long it is watched. */
const WAIT = 500;
const WATCHED = 6_000;

const SLACK = 700;

/** A wait with a limit, on a server that hangs: does the caller get away? */
export const frozenWait: Behaviour = {
  name: "frozen_wait",
  title: `The server hangs during a wait that is limited to ${ms(WAIT)}: when does the call return?`,
  suits: ({ peer }) => !peer.broker && peer.id !== "bare",
  tuned: false,
  async observe(contender, stage) {
    const server = await stage.server();
    const worker = await stage.worker(contender, [server.port]);
    await worker.ask({ do: "within", name: "before", ms: 5_000 }, 30_000);
    server.freeze();
    try {
      const { took } = await worker.ask<{ took: number }>({ do: "within", name: "frozen", ms: WAIT }, WATCHED);
      return { well: took <= WAIT + SLACK, text: `after ${ms(took)}` };
    } catch (error) {
      if (!(error instanceof CutOff)) throw error;
      return { well: false, text: `not within ${ms(WATCHED)}` };
    } finally {
      server.thaw();
    }
  },
};
