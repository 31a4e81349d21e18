import type { CasStore } from "../../../src/engine/store.ts";
import type { Branches } from "../kernel/branches.ts";
import { changedSources } from "../kernel/changed_sources.ts";

/** The class of the engine's stores: the shipped one, or one that was made of changed sources. */
export type Engine = typeof CasStore;

/** The files of the engine whose branches are counted: what decides, waits and remembers. */
const COUNTED: readonly string[] = [
  ...[
    "changes",
    "contention",
    "document",
    "lock",
    "own_waiters",
    "period",
    "plan",
    "refusal",
    "seen",
    "store",
    "succession",
    "sweeper",
    "tidy",
    "timers",
    "view",
    "watcher",
  ],
].map((name) => `engine/${name}.ts`);

/** What imports a file of the engine. */
type Load = <M>(path: string) => Promise<M>;

/**
 * Loads an engine of changed sources.
 *
 * @param change returns what a file of the engine becomes, given its name and its text
 */
export async function loadEngine(change: (file: string, text: string) => string): Promise<Engine> {
  return await storeOf(changedSources(isOfEngine, (path, text) => change(path.slice(path.lastIndexOf("/") + 1), text)));
}

/** Loads the engine with its branches counted. */
export async function countedEngine(branches: Branches): Promise<Engine> {
  return await storeOf(branches.count(isOfEngine, (path) => COUNTED.includes(path)));
}

function isOfEngine(path: string): boolean {
  return /^engine\/\w+\.ts$/.test(path);
}

async function storeOf(load: Load): Promise<Engine> {
  return (await load<{ readonly CasStore: Engine }>("engine/store.ts")).CasStore;
}
