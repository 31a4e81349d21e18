import { type Copy, exclusiveOnly, whole } from "./exclusive_only.ts";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { compare, type Load } from "./uncontended.ts";

/** So much of its speed an exclusive lock may at most lose to what it does not use. */
const TARGET = { bound: "at least", value: 0.97 } as const;

/** Loops that take locks, each with a name of its own or all with one. */
const LOADS: Readonly<Record<string, Load & { readonly oneName?: boolean }>> = {
  "unused features, acquire + release": { loops: 1, pairs: 400, seconds: 14 },
  "unused features, 64 concurrent": { loops: 64, pairs: 100, seconds: 28 },
  "unused features, 8 on one name": { loops: 8, pairs: 40, seconds: 10, oneName: true },
};

/** How many loops want one name in the trial, how often each, and over how many clients. */
const TRIAL = { loops: 16, sections: 10, clients: 4 };

/**
 * The exclusive lock as it is against one that was written without shared locks, permits, owners that come again,
 * `steal` and observers. Both are copies of the package, so that what else was measured has made neither slower.
 */
export async function features(bench: Bench): Promise<Figure[]> {
  const ours = await whole(`${bench.directory}/whole`);
  const reference = await exclusiveOnly(`${bench.directory}/exclusive`);
  // What is fast because it does not work would be no reference.
  for (const [name, copy] of Object.entries({ ours, reference })) await trial(copy, name, bench);
  const figures: Figure[] = [];
  for (const [what, load] of Object.entries(LOADS)) {
    const { oneName = false } = load;
    const contest = {
      what,
      ours: sections(ours, (loop) => oneName ? "ours" : `ours:${loop}`, bench),
      reference: sections(reference, (loop) => oneName ? "them" : `them:${loop}`, bench),
      against: "without them",
      // For information: handing over is not the path of a lock that nobody else wants.
      ...oneName ? {} : { target: TARGET },
    };
    figures.push(await compare(contest, load, bench));
  }
  return figures;
}

/** Takes a lock and gives it back. */
function sections(
  { acquire }: Copy,
  name: (loop: number) => string,
  { server }: Bench,
): (loop: number) => Promise<void> {
  const client = server.connect();
  return async (loop) => {
    await using _lock = await acquire(client, name(loop));
  };
}

/** Many want one name: rejects unless it goes from hand to hand, to one at a time, and nothing is left in the end. */
export async function trial(
  { acquire }: Copy,
  name: string,
  { server, progress }: Pick<Bench, "server" | "progress">,
): Promise<void> {
  const clients = Array.from({ length: TRIAL.clients }, () => server.connect());
  let inside = 0;
  let last = 0n;
  await Promise.all(Array.from({ length: TRIAL.loops }, async (_, loop) => {
    for (let section = 0; section < TRIAL.sections; section++) {
      await using lock = await acquire(clients[loop % TRIAL.clients]!, `trial:${name}`, { wait: 5_000 });
      if (inside++ > 0 || lock.fence <= last || !lock.held) throw new Error(`The copy "${name}" does not lock`);
      last = lock.fence;
      await clients[0]!.ping();
      inside--;
      progress(`trial of ${name}, fence ${last}`);
    }
  }));
  const left = (await server.leftovers()).filter((key) => key.includes(`trial:${name}`));
  if (left.length > 0) throw new Error(`The copy "${name}" leaves keys behind: ${left.join(", ")}`);
}
