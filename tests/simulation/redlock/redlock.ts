import type { RedlockStore } from "../../../src/redlock/store.ts";
import type { Branches } from "../kernel/branches.ts";

/** The class of the stores of Redlock: the shipped one, or one whose branches are counted. */
export type Redlock = typeof RedlockStore;

/** Loads Redlock with the branches counted of what attempts, renews and releases. */
export async function countedRedlock(branches: Branches): Promise<Redlock> {
  const load = branches.count((path) => /^redlock\/(attempt\/|nodes\/|store\.ts$)/.test(path));
  return (await load<{ readonly RedlockStore: Redlock }>("redlock/store.ts")).RedlockStore;
}
