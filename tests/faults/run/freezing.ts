import type { Random } from "../../simulation/kernel/random.ts";
import { type Fault, pause, serverFault } from "./fault.ts";

/** A server whose process can be stopped. */
interface Freezable {
  freeze(): void;
  thaw(): void;
}

/** Returns the fault that freezes the process of a server, for at most so many milliseconds. */
export function freezing(
  { servers }: { readonly servers: (random: Random) => Promise<readonly Freezable[]> },
  breach: boolean,
  well: () => Promise<void>,
  longest = 3_000,
): Fault {
  return serverFault("server frozen", breach, async (random, over) => {
    const server = random.pick(await servers(random));
    server.freeze();
    await pause(random.spread(20, longest), over);
    server.thaw();
    await well();
  });
}
