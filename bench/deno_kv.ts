import { acquire } from "@holdfast/lock";
import { denoKv } from "@holdfast/lock/deno-kv";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { compare, type Contest } from "./uncontended.ts";

/** Where it is, and what is to be reached. Nobody keeps the locks of several processes in memory: for information. */
const PLACES = [
  { place: "in memory", file: undefined, target: undefined },
  { place: "in a file", file: "deno_kv.db", target: { bound: "at least", value: 0.7 } },
] as const;

/** Measures the store in a Deno KV against the least that a lock there can be, in memory and in a file. */
export async function inDenoKv(bench: Bench): Promise<Figure[]> {
  const load = { loops: 1, pairs: 200, seconds: 5 };
  const figures: Figure[] = [];
  for (const { place, file, target } of PLACES) {
    const kv = await Deno.openKv(file === undefined ? ":memory:" : `${bench.directory}/${file}`);
    bench.stack.defer(() => kv.close());
    const store = denoKv(kv);
    const contest: Contest = {
      what: `Deno KV ${place}: acquire + release`,
      ours: async () => {
        await using _lock = await acquire(store, "pairs");
      },
      reference: () => barePair(kv),
      against: "check and set, check and delete",
      ...target === undefined ? {} : { target },
    };
    figures.push(await compare(contest, load, bench));
  }
  return figures;
}

/** Sets a key if it is absent, and deletes it if it is as it was set. */
async function barePair(kv: Deno.Kv): Promise<void> {
  const key = ["bare", "pairs"];
  const set = await kv.atomic().check({ key, versionstamp: null }).set(key, crypto.randomUUID()).commit();
  if (!set.ok) throw new Error("the key is taken");
  const { ok } = await kv.atomic().check({ key, versionstamp: set.versionstamp }).delete(key).commit();
  if (!ok) throw new Error("the key was lost");
}
