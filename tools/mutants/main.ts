/**
 * Mutation testing, `deno task mutants`: changes the source in one place at a time, and runs the tests that should
 * notice.
 *
 * @module
 */
import { INTERRUPTED, MISUSED, readOptions } from "../../tests/support/command_line.ts";
import { reason } from "../../tests/support/interruption.ts";
import { importArguments } from "../../tests/tools/offline/arguments.ts";
import { Random } from "../../tests/simulation/kernel/random.ts";
import { Campaign } from "./campaign.ts";
import { mutantsIn } from "./changes.ts";
import type { Mutant } from "./mutant.ts";
import { type Options, PROGRAM } from "./options.ts";
import { tryPinned } from "./pinned_run.ts";
import { type Excuse, idle, report } from "./report.ts";
import { Results } from "./results.ts";
import survivors from "./survivors.json" with { type: "json" };
import { targetOf, TARGETS } from "./targets.ts";
import { files, Workshop } from "./workshop.ts";

async function main(args: string[]): Promise<number> {
  const options = readOptions(PROGRAM, args);
  if (typeof options === "number") return options;
  const mutants = options.pinned ? [] : await chosen(options);
  if (!options.pinned && mutants.length === 0) {
    console.error("No mutant is in the files and targets that were named");
    return MISUSED;
  }
  if (options.list) {
    for (const { line, operator, key } of mutants) console.log(`${operator}, line ${line}: ${key}`);
    return 0;
  }
  return await inWorkshops(options.jobs, async (campaign, interrupted) => {
    if (options.pinned) return await tryPinned(campaign) ? 0 : 1;
    const results = await Results.open(options.fresh);
    await campaign.run(mutants, results);
    const all = mutants.flatMap(({ key }) => results.get(key) ?? []);
    const excuses: readonly Excuse[] = survivors;
    console.log(report(all, excuses));
    for (const { mutant } of idle(all, excuses)) console.log(`noticed, and yet in survivors.json: ${mutant}`);
    if (options.json !== undefined) await Deno.writeTextFile(options.json, JSON.stringify(all, null, 2));
    return interrupted() ? INTERRUPTED : 0;
  });
}

/** The mutants that are asked for. */
async function chosen({ files: parts, target: targets, sample, seed }: Options): Promise<Mutant[]> {
  const wanted = (await files("src/", "packages/")).filter((path) => {
    const target = targetOf(path);
    if (target === undefined || !targets.includes(target.name)) return false;
    return parts.length === 0 || parts.some((part) => path.includes(part));
  });
  const mutants: Mutant[] = [];
  for (const path of wanted) mutants.push(...await mutantsIn(path));
  if (sample === undefined) return mutants;
  const random = new Random(seed);
  return TARGETS.flatMap((target) => {
    const pool = mutants.filter(({ path }) => targetOf(path) === target);
    return drawn(pool, Math.min(sample, pool.length), random);
  });
}

/** So many of the items, by chance, in their order. */
function drawn<T>(items: readonly T[], count: number, random: Random): T[] {
  const left = [...items.keys()];
  const taken = Array.from({ length: count }, () => left.splice(Math.floor(random.next() * left.length), 1)[0]!);
  return taken.sort((a, b) => a - b).map((i) => items[i]!);
}

/** Runs something with so many copies of the repository, which are deleted also when it is interrupted. */
async function inWorkshops(
  jobs: number,
  run: (campaign: Campaign, interrupted: () => boolean) => Promise<number>,
): Promise<number> {
  const imports = await importArguments();
  const workshops = await Promise.all(Array.from({ length: jobs }, () => Workshop.open(imports)));
  const campaign = new Campaign(workshops, await files("tests/", "packages/", "tools/"), (line) => console.log(line));
  let interrupted = false;
  const stop = () => {
    interrupted = true;
    campaign.stop();
    for (const workshop of workshops) void workshop[Symbol.asyncDispose]();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  try {
    const status = await run(campaign, () => interrupted);
    return interrupted ? INTERRUPTED : status;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stop);
    for (const workshop of workshops) await workshop[Symbol.asyncDispose]();
  }
}

if (import.meta.main) {
  try {
    Deno.exitCode = await main(Deno.args);
  } catch (error) {
    console.error(reason(error));
    Deno.exitCode = 1;
  }
}
