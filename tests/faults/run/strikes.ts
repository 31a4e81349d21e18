import { Random } from "../../simulation/kernel/random.ts";
import type { Fault } from "./fault.ts";

/** Resolves to whether an effect is seen when a fault happens; with some seeds it is over too soon, or milder. */
export async function strikes(fault: Fault, effect: () => Promise<unknown>): Promise<boolean> {
  const never = new AbortController().signal;
  for (let seed = 1; seed <= 20; seed++) {
    let over = false;
    let struck = false;
    const injected = fault.inject(new Random(seed), never, () => {}).finally(() => over = true);
    const look = () => effect().catch(() => struck = true);
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
