import { type Count, count, WORKERS } from "./counting.ts";
import type { Crew } from "./crew.ts";
import { paint, Progress, say, table, title } from "./screen.ts";
import { freeze, kill, type Late, LEASE_MS, probe } from "./takeover.ts";

/** How long a dead holder's lock may stay unused after the end of its lease, on the slowest machine. */
const TAKEOVER_MARGIN_MS = 30_000;

/** Shows everything, in order; resolves to whether all that a lock promises held. */
export async function show(crew: Crew): Promise<boolean> {
  const { store, sections } = crew.run;
  // Without passwords.
  const where = store.startsWith("sqlite:") ? "an SQLite file" : store.replaceAll(/\/\/[^@,]*@/g, "//");
  try {
    await probe(crew);
  } catch (error) {
    throw new Error(`Cannot use ${where}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  console.log(`One process at a time holds a lock. This one is in ${where}.`);

  title("1. Without a lock", `${WORKERS} processes add 1 to a number in a file, ${sections} times each.`);
  const unlocked = await watch(crew, false);

  title("2. With a lock", "the same, but only the holder may touch the file.");
  const locked = await watch(crew, true);
  say("It is slower: they take turns, and each turn asks the store at least twice.");

  title("3. A holder dies", `its lock is free when its lease of ${LEASE_MS / 1000} s ends.`);
  const takeover = await kill(crew, say);

  title("4. A holder freezes", "by its smaller fence the resource refuses its late write.");
  const late = await freeze(crew, say);

  report(unlocked, locked, takeover, late);
  const broken = [
    ...(locked.lost === 0 ? [] : ["no update is lost under the lock"]),
    ...(locked.rising ? [] : ["fences rise"]),
    ...(takeover <= LEASE_MS + TAKEOVER_MARGIN_MS
      ? []
      : ["the lock of a dead holder is taken over when its lease ends"]),
    ...(late.knew ? [] : ["a holder that was frozen for too long knows at once"]),
    ...(late.refused ? [] : ["a late write is refused"]),
    ...(late.undisturbed ? [] : ["a holder that continues too late does not disturb the new holder"]),
  ];
  console.log(
    broken.length === 0 ? paint("green", "Everything held.") : paint("red", `DID NOT HOLD: ${broken.join("; ")}.`),
  );
  return broken.length === 0;
}

async function watch(crew: Crew, locked: boolean): Promise<Count> {
  const progress = new Progress(WORKERS * crew.run.sections);
  const seen = await count(crew, locked, (raised, value) => {
    progress.step(raised, `raised ${raised} times, the file says ${value}`);
  });
  const { raised, lost } = seen;
  const verdict = paint(lost === 0 ? "green" : "red", `${updates(lost)} lost`);
  progress.end(`raised ${raised} times, the file says ${raised - lost}: ${verdict}.`);
  if (!locked && lost === 0) say("By luck: nothing kept them apart. Try again with more --sections.");
  return seen;
}

function report(unlocked: Count, locked: Count, takeover: number, late: Late): void {
  table([
    ["", "no lock", "Holdfast"],
    ["updates lost", `${unlocked.lost} of ${unlocked.raised}`, `${locked.lost} of ${locked.raised}`],
    ["sections per second", unlocked.rate.toFixed(0), locked.rate.toFixed(0)],
    ["median wait", "", `${locked.medianWait.toFixed(1)} ms`],
    ["longest wait", "", `${locked.longestWait.toFixed(1)} ms`],
    ["fences rising", "", yes(locked.rising)],
    ["taken over after a kill", "", `${(takeover / 1000).toFixed(2)} s`],
    ["late write refused", "", yes(late.refused)],
  ]);
}

function updates(lost: number): string {
  return lost === 0 ? "no update was" : lost === 1 ? "1 update was" : `${lost} updates were`;
}

function yes(held: boolean): string {
  return held ? "yes" : "NO";
}
