import { runChild } from "./child.ts";
import type { Figure, Quantity } from "./figure.ts";
import type { Held, HeldOptions } from "./held_process.ts";
import type { Bench } from "./row.ts";

export const LOCKS = 10_000;

/** How long each lock lasts without a renewal, and for how many leases it is held. */
const LEASE = 10_000;
const LEASES = 1.2;

/** The shortest lease in a short run, in milliseconds. */
const SHORT_LEASE = 3_000;

/** Many locks held by one process, which has nothing else in its heap. */
export async function held({ server, scale, progress, stack }: Bench): Promise<Figure[]> {
  const lease = Math.max(SHORT_LEASE, LEASE * scale);
  const options: HeldOptions = { url: `redis://127.0.0.1:${server.port}`, locks: LOCKS, lease, hold: lease * LEASES };
  progress(`${LOCKS.toLocaleString("en")} locks for ${options.hold / 1_000} s`);
  const result = await hold(options, stack);
  return [
    kept(`${LOCKS.toLocaleString("en")} held locks`, options, result),
    {
      what: "heap per held lock",
      ours: perLock(Math.max(result.heapWhenTaken, result.heapWhenRenewed)),
      target: { bound: "at most", value: 2 },
    },
    { what: "heap per held lock with its signal", ours: perLock(result.heapWithSignals) },
    { what: "renewals", ours: { value: result.renewals / options.hold * 1_000, unit: "/s" } },
  ];
}

/** How many locks were renewed, and held to the end. */
export function kept(what: string, options: HeldOptions, result: Held): Figure {
  return {
    what: `${what}, renewed and not lost`,
    ours: { value: result.kept, unit: "" },
    target: { bound: "at least", value: options.locks },
    details: { ...options, ...result },
  };
}

function perLock(bytes: number): Quantity {
  return { value: bytes / LOCKS / 1_024, unit: "KB" };
}

/** Runs a process of its own, because the garbage collector is exposed only if that is asked for at the start. */
export function hold(options: HeldOptions, stack: AsyncDisposableStack): Promise<Held> {
  const program = new URL("held_process.ts", import.meta.url).href;
  const args = ["run", "--v8-flags=--expose-gc", "--allow-net=127.0.0.1", "--allow-env", program];
  return runChild(Deno.execPath(), [...args, JSON.stringify(options)], stack);
}
