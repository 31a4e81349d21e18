import { DatabaseSync } from "node:sqlite";
import { sqlite as open } from "../../../../src/stores/sqlite/mod.ts";
import { DataDirectory } from "../directory.ts";
import { type Deployment, type Left, listed, type Traits, type Users } from "../deployment.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { fileFaults, Intruder } from "../sqlite/file_faults.ts";
import { WorkerClocks } from "../worker_clocks.ts";

/** How far the machine's clock is set, in leases: mostly so far that it ends all of them. */
const SHIFT = [0.2, 3] as const;

/** The signal of what is not to be ended. */
const NEVER = new AbortController().signal;

/** What is particular to the store in a file. */
const TRAITS: Traits = {
  runs: true,
  executesLate: false,
  keepsTurns: false,
  // A process that has just come takes others for dead after 6 s.
  waiterTimeout: 6_000,
  // After that those behind a dead waiter ask again.
  idle: 8_000,
  succession: { leases: 1.5, ms: 8_000 },
  givenBack: 500,
  stall: 200,
  pace: [50, 250],
};

/** Makes a file that several processes keep their locks in. */
export async function sqlite(): Promise<Deployment> {
  await using stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(new DataDirectory());
  const path = `${directory}/locks.db`;
  using store = open(path);
  await store.query();
  const clocks = stack.use(await WorkerClocks.make({ shared: true }));
  const intruder = stack.use(await Intruder.start(path));
  const owned = stack.move();
  return {
    target: () => ({ kind: "sqlite", path }),
    ports: [],
    proxies: [],
    request: "",
    clocks,
    traits: TRAITS,
    faults: fileFaults(intruder),
    userFaults: (users) => clockFaults(clocks, users),
    left: () => left(path),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns what the file lists, and what is wrong with it. */
async function left(path: string): Promise<Left> {
  using store = open(path);
  const entries = await listed(store);
  using database = new DatabaseSync(path);
  const found = database.prepare("PRAGMA integrity_check").all().map((row) => String(row["integrity_check"]));
  return { entries: [...entries, ...found.filter((text) => text !== "ok")], connections: [] };
}

/**
 * Returns the faults that set the machine's clock. Holders see that as well as others do: a jump ahead ends their
 * leases, and one back makes none longer. So nobody may be granted a lock that is believed in, unless the clock is
 * right again within a lease: then a holder may not have looked meanwhile.
 */
function clockFaults(clocks: WorkerClocks, { crew, lease }: Users): Fault[] {
  const fault = (kind: string, breach: boolean, duration: readonly [number, number]): Fault =>
    serverFault(kind, breach, async (random) => {
      const ms = lease * random.between(...SHIFT) * random.pick([-1, 1]);
      const shifts = new Map(Array.from({ length: crew.size }, (_, place) => [place, ms]));
      // Not ended early: it would be another fault.
      await clocks.set(shifts, () => pause(lease * random.between(...duration), NEVER));
    });
  const set = fault("clock set", false, [1.05, 2]);
  // More often than the others, because it ends leases that holders believe in.
  return [set, set, fault("clock set for a moment", true, [0.01, 0.5])];
}
