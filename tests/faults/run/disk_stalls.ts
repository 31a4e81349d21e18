import type { Random } from "../../simulation/kernel/random.ts";
import type { StalledDisks } from "../../support/stalled_disks.ts";
import { type Fault, pause, serverFault } from "./fault.ts";

/** How long a disk stalls, in milliseconds. */
const DURATION = [20, 3_000] as const;

/** Disks, which of them stalls, and what resolves when all is well behind that. */
export interface DiskWard {
  readonly disks: StalledDisks | undefined;
  readonly name: (random: Random) => Promise<string>;
  readonly well: () => Promise<void>;
}

/** Returns the fault in which the disk of a server stalls, where the system lets it: what it has to write waits. */
export function diskStalls({ disks, name, well }: DiskWard): Fault[] {
  if (disks === undefined) return [];
  const stalled = serverFault("disk stalled", false, async (random, over) => {
    const server = await name(random);
    disks.stall(server);
    await pause(random.spread(...DURATION), over);
    disks.resume(server);
    await well();
  });
  return [stalled];
}
