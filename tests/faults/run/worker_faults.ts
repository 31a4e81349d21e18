import type { Crew } from "./crew.ts";
import { type Fault, pause } from "./fault.ts";

/** Returns the faults of processes that use locks. */
export function workerFaults(crew: Crew, lease: number): Fault[] {
  return [
    {
      kind: "workers paused",
      where: "workers",
      breach: false,
      async inject(random, over) {
        // Some of them, but not all: others are to get the locks meanwhile.
        const places = Array.from({ length: crew.size }, (_, place) => place);
        const count = random.integer(1, Math.max(1, crew.size - 1));
        while (places.length > count) places.splice(random.integer(0, places.length - 1), 1);
        for (const place of places) crew.signal(place, "SIGSTOP");
        await pause(random.chance(0.7) ? lease * random.between(1, 2) : random.spread(10, lease), over);
        for (const place of places) crew.signal(place, "SIGCONT");
        return true;
      },
    },
    {
      kind: "worker killed",
      where: "workers",
      breach: false,
      async inject(random, over) {
        const place = random.integer(0, crew.size - 1);
        // While it hangs, the servers still wake it, and keep locks for it.
        crew.signal(place, "SIGSTOP");
        await pause(lease * random.between(0, 1), over);
        await crew.kill(place);
        await pause(random.spread(10, lease), over);
        await crew.start(place);
        return true;
      },
    },
  ];
}
