import type { Random } from "../../simulation/kernel/random.ts";

/** Something that can happen to a deployment or to those who use it. */
export interface Fault {
  /** What it is called in reports and on the command line. */
  readonly kind: string;
  /** What it happens to, such as `"servers"`; at most one fault at a time happens to each. */
  readonly where: string;
  /**
   * Whether it lets a lock be given away while it is held: data of a server is lost, or its clock jumps. Two holders
   * that believe in their locks are then counted, and are no violation; that the fence refuses the first of them is
   * required all the same. A holder that is paused or cut off is no such fault: it is to find out before anybody else
   * gets the lock.
   */
  readonly breach: boolean;
  /**
   * Injects the fault and ends it, at the latest when the signal aborts; resolves when everything works again, to
   * whether it happened. A breach may end earlier: then `endBreach` is called, and again if it had not ended by then.
   */
  inject(random: Random, over: AbortSignal, endBreach: () => void): Promise<boolean>;
}

/** Returns a fault of servers; it has happened unless `inject` resolves to `false`. */
export function serverFault(
  kind: string,
  breach: boolean,
  inject: (...args: Parameters<Fault["inject"]>) => Promise<unknown>,
): Fault {
  return { kind, where: "servers", breach, inject: async (...args) => await inject(...args) !== false };
}

/** Resolves in so many milliseconds, or when the signal aborts. */
export function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (over.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      over.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    over.addEventListener("abort", done);
  });
}
