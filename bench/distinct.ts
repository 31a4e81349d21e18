import { acquire, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import type { Figure } from "./figure.ts";
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

/** What a store that does something for several handles together costs where no two of them want the same name. */
const SIDES: readonly { readonly name: string; readonly open: (store: Store, stack: AsyncDisposableStack) => Store }[] =
  [
    { name: "runs", open: (store) => store },
    { name: "cohort", open: (store, stack) => stack.use(cohort(store)) },
  ];

/** Locks that nobody else wants, each under another name than the one before. */
export async function distinct(bench: Bench): Promise<Figure[]> {
  const { server, stack } = bench;
  const figures: Figure[] = [];
  for (const { name, open } of SIDES) {
    for (const load of LOADS) {
      const contest = {
        what: `distinct names, ${load.loops} at a time, ${name}`,
        ours: pairs(open(redis(server.connect()), stack), "ours"),
        reference: pairs(plain(redis(server.connect())), "them"),
        against: "plain",
        target: { bound: "at least", value: 0.97 },
      } as const;
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
