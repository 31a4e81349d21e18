import { acquire, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import type { Figure, Target } from "./figure.ts";
import { least } from "./least.ts";
import { plain } from "./plain.ts";
import type { Bench } from "./row.ts";
import { compare, type Load } from "./uncontended.ts";

/** One at a time, and many at a time, each in a loop of its own. */
const LOADS: readonly Load[] = [
  { loops: 1, pairs: 400, seconds: 10 },
  { loops: 64, pairs: 20, seconds: 10 },
];

/** How many names are used in turn. */
const NAMES = 10_000;

/** A store that does something for several handles together. */
interface Side {
  readonly name: string;
  readonly open: (store: Store, stack: AsyncDisposableStack) => Store;
  readonly target?: Target;
}

/** What they cost where no two handles want the same name; the last one shows what any of them must cost. */
const SIDES: readonly Side[] = [
  { name: "runs", open: (store) => store, target: { bound: "at least", value: 0.97 } },
  { name: "cohort", open: (store, stack) => stack.use(cohort(store)), target: { bound: "at least", value: 0.97 } },
  { name: "the least that these need", open: least },
];

/** Locks that nobody else wants, each under another name than the one before. */
export async function distinct(bench: Bench): Promise<Figure[]> {
  const { server, stack } = bench;
  const figures: Figure[] = [];
  for (const { name, open, target } of SIDES) {
    for (const load of LOADS) {
      const contest = {
        what: `distinct names, ${load.loops} at a time, ${name}`,
        ours: pairs(open(redis(server.connect()), stack), "ours"),
        reference: pairs(plain(redis(server.connect())), "them"),
        against: "plain",
        ...target && { target },
      };
      figures.push(await compare(contest, load, bench));
    }
  }
  return figures;
}

function pairs(store: Store, side: string): () => Promise<void> {
  let taken = 0;
  return async () => {
    await using _lock = await acquire(store, `distinct:${side}:${taken++ % NAMES}`);
  };
}
