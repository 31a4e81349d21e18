import { pause } from "../../../bench/pause.ts";
import { type Behaviour, ms } from "./behaviour.ts";

/** For how long one process takes the lock again as soon as it has released it, and how long each section lasts. */
const SECONDS = 8;
const SECTION = 5;

/** How often the other one asks, and for how long it rests between, at most, in milliseconds. */
const TIMES = 10;
const REST = 100;

/** As many sections as there can be before the other one stands in the queue. */
const FEW = 3;

/** Somebody who asks again at once: does it overtake whoever waits? */
export const barging: Behaviour = {
  name: "barging",
  title: `One process takes a lock over and over, another one ${TIMES} times: how often is that one overtaken at most?`,
  suits: ({ peer }) => !peer.broker && peer.id !== "bare",
  tuned: false,
  async observe(contender, stage) {
    const { port } = await stage.server();
    const greedy = await stage.worker(contender, [port]);
    const patient = await stage.worker(contender, [port]);
    for (const worker of [greedy, patient]) await worker.ask({ do: "within", name: "before", ms: 5_000 }, 30_000);
    const taking = greedy.ask<number[]>({ do: "greedy", name: "wanted", seconds: SECONDS, section: SECTION }, 90_000);
    await pause(500);
    const order = { do: "patient", name: "wanted", times: TIMES, rest: REST };
    const waits = await patient.ask<{ asked: number; until: number; held: boolean }[]>(order, 90_000);
    const began = await taking;
    const overtaken = waits.map(({ asked, until, held }) => {
      return { held, took: until - asked, by: began.filter((time) => time > asked && time < until).length };
    });
    const worst = overtaken.toSorted((a, b) => b.by - a.by)[0]!;
    const lost = overtaken.filter(({ held }) => !held).length;
    const gaveUp = lost > 0 ? `; ${lost} of ${TIMES} waits were given up` : "";
    return { well: worst.by <= FEW && lost === 0, text: `${worst.by} times, in ${ms(worst.took)}${gaveUp}` };
  },
};
