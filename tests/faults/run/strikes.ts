import { Random } from "../../simulation/kernel/random.ts";
import type { Fault } from "./fault.ts";

/** Makes a fault last for as long as it can, so that its effect is seen however slow the machine is. */
class Longest extends Random {
  override spread(low: number, high: number): number {
    super.spread(low, high);
    return high;
  }
}

/** Resolves to whether an effect is seen when a fault happens; with some seeds it is over too soon, or milder. */
export async function strikes(fault: Fault, effect: () => Promise<unknown>): Promise<boolean> {
  for (let seed = 1; seed <= 20; seed++) {
    const enough = new AbortController();
    let over = false;
    let struck = false;
    const injected = fault.inject(new Longest(seed), enough.signal, () => {}).finally(() => over = true);
    const look = () =>
      effect().catch(() => {
        struck = true;
        enough.abort();
      });
    while (!over && !struck) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const happened = await injected;
    if (happened && !struck) await look();
    if (struck && happened) return true;
  }
  return false;
}
