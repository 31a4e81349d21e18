import { acquire } from "@holdfast/lock";
import { countCommands, resetCommands } from "./commands.ts";
import type { Figure } from "./figure.ts";
import { pause } from "./pause.ts";
import type { Bench } from "./row.ts";
import { mean, summarize } from "./statistics.ts";

const WORKERS = 32;
const CLIENTS = 4;
const SECTIONS = 80;

/** How long a section lasts, in milliseconds. */
const SECTION = 1;

/** Many workers want one name all the time: what that costs the server, and how fair it is. */
export async function contended({ server, scale, progress }: Bench): Promise<Figure[]> {
  const clients = Array.from({ length: CLIENTS }, () => server.connect());
  const waits: number[] = [];
  let done = 0;
  const work = async (sections: number) => {
    await Promise.all(Array.from({ length: WORKERS }, async (_, worker) => {
      for (let section = 0; section < sections; section++) {
        const asked = performance.now();
        await using _lock = await acquire(clients[worker % CLIENTS]!, "contended");
        waits.push(performance.now() - asked);
        await pause(SECTION);
        progress(`${++done} sections`);
      }
    }));
  };

  // Each client makes its connection for wake-ups, and the server learns the scripts.
  await work(2);
  waits.length = 0;
  const counter = server.connect();
  await resetCommands(counter);
  await work(Math.ceil(SECTIONS * scale));
  const commands = await countCommands(counter);

  const longest = Math.max(...waits);
  const details = { workers: WORKERS, clients: CLIENTS, sections: waits.length, wait: summarize(waits) };
  return [
    {
      what: "scripts per contended section, 32 workers",
      ours: { value: commands.scripts / waits.length, unit: "" },
      target: { bound: "at most", value: 3.1 },
      details: { ...details, commandsPerSection: commands.all / waits.length },
    },
    {
      what: "longest wait, 32 workers",
      ours: { value: longest, unit: "ms" },
      reference: { name: "mean wait", value: mean(waits), unit: "ms" },
      ratio: longest / mean(waits),
      target: { bound: "at most", value: 2 },
      details,
    },
  ];
}
