import { CutOff } from "../worker.ts";
import { type Behaviour, ms } from "./behaviour.ts";

/** In milliseconds: how long the caller wants to wait, and how long it is watched. */
const WAIT = 500;
const WATCHED = 6_000;

/** Twice that, on a busy machine. */
const SLACK = 1_500;

/** As many votes for as against: does a wait with a limit end? */
export const evenQuorum: Behaviour = {
  name: "even_quorum",
  title: `One of two Redlock servers refuses: when does a wait that is limited to ${ms(WAIT)} end?`,
  suits: ({ peer }) => peer.quorum === true && peer.id !== "bare",
  tuned: false,
  async observe(contender, stage) {
    const servers = await stage.servers(2);
    const ports = servers.map(({ port }) => port);
    const rival = await stage.worker(contender, ports.slice(0, 1));
    await rival.ask({ do: "lock", name: "even" }, 30_000);
    const worker = await stage.worker(contender, ports);
    try {
      const { took, outcome } = await worker.ask<{ took: number; outcome: string }>(
        { do: "within", name: "even", ms: WAIT },
        WATCHED,
      );
      return { well: outcome !== "held" && took <= WAIT + SLACK, text: `after ${ms(took)}` };
    } catch (error) {
      if (!(error instanceof CutOff)) throw error;
      return { well: false, text: `not within ${ms(WATCHED)}` };
    }
  },
};
