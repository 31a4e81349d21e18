// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { DenoProcess } from "../support/deno_process.ts";
import { ACCOUNTS, PERMITS } from "./kinds.ts";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { Fixture, type StoreKind } from "./workers.ts";

const PROCESSES = 6;

/** Has several processes do a task so many times each; returns how long each of them waited, in milliseconds. */
async function perform(
  fixture: Fixture,
  task: string,
  count: number,
  cohort: CohortOptions | undefined,
): Promise<Record<string, number[]>> {
  const { kind, address, directory } = fixture;
  const options = cohort === undefined ? [] : [JSON.stringify(cohort)];
  const script = import.meta.resolve("./kinds_worker.ts");
  const outputs = await Promise.all(Array.from({ length: PROCESSES }, async () => {
    await using process = new DenoProcess(script, kind, address, directory, task, `${count}`, ...options);
    return JSON.parse(await process.output()) as Record<string, number[]>;
  }));
  const waits: Record<string, number[]> = {};
  for (const output of outputs) {
    for (const [what, each] of Object.entries(output)) waits[what] = [...waits[what] ?? [], ...each];
  }
  return waits;
}

/** Where the locks are, and how a process that is a cohort keeps them: each store and each way once. */
const PLACES: readonly { readonly kind: StoreKind; readonly cohort?: CohortOptions }[] = [
  { kind: "redis" },
  { kind: "sqlite", cohort: { linger: 10 } },
];

for (const { kind, cohort } of PLACES) {
  const where = cohort === undefined ? kind : `a cohort of ${kind}`;

  Deno.test(`mode "shared" lets exclusive holders be alone and not starve, over ${where}`, async () => {
    await using fixture = await Fixture.open(kind);
    const { shared = [], exclusive = [] } = await perform(fixture, "share", 170, cohort);
    assertEquals(shared.length + exclusive.length, PROCESSES * 170);
    const turns = Deno.readTextFileSync(`${fixture.directory}/turns`).trimEnd().split("\n");
    const overtaken = turns.flatMap((turn, i) => {
      if (!turn.startsWith("waiting exclusive")) return [];
      const granted = turns.indexOf(turn.replace("waiting", "granted"), i);
      return [turns.slice(i, granted).filter((turn) => turn.startsWith("granted")).length];
    });
    // Each of the others may have been ahead, or have written down late that it was.
    assert(
      overtaken.length > 0 && Math.max(...overtaken) <= 2 * (PROCESSES - 1),
      `overtaken ${Math.max(...overtaken)} times`,
    );
  });

  Deno.test(`permits lets in at most ${PERMITS} of ${PROCESSES} processes, over ${where}`, async () => {
    await using fixture = await Fixture.open(kind);
    const waits = await perform(fixture, "permits", 100, cohort);
    assertEquals(waits["permits"]?.length, PROCESSES * 100);
  });

  Deno.test(`permits: that of a killed holder is back after its lease, over ${where}`, async () => {
    await using fixture = await Fixture.open(kind);
    const workers = await fixture.workers(3, cohort);
    // So long that no holder loses it on a busy machine.
    const options = { permits: 2, lease: 10_000 };
    for (const worker of workers.slice(0, 2)) {
      await worker.ask({ do: "acquire", name: "pool", options }, "granted");
    }
    await workers[2]!.ask({ do: "acquire", name: "pool", options }, "waiting");
    await workers[0]!.kill();
    await workers[2]!.next("granted");
    await workers[1]!.ask({ do: "release", name: "pool" }, "released");
  });

  Deno.test(`owner lets two processes hold one lock, with a handle each, over ${where}`, async () => {
    await using fixture = await Fixture.open(kind);
    const [one, two, other] = await fixture.workers(3, cohort);
    const fences = [];
    for (const worker of [one!, two!]) {
      fences.push((await worker.ask({ do: "acquire", name: "job", options: { owner: "import 7" } }, "granted")).fence);
    }
    assertEquals(fences[0], fences[1]);
    await other!.ask({ do: "acquire", name: "job" }, "waiting");
    await one!.ask({ do: "release", name: "job" }, "released");
    await two!.ask({ do: "extend", name: "job" }, "extended");
    await two!.ask({ do: "release", name: "job" }, "released");
    assert(BigInt((await other!.next("granted")).fence) > BigInt(fences[0]!));
  });

  Deno.test(`acquireAll() of ${PROCESSES} processes loses no update, over ${where}`, async () => {
    await using fixture = await Fixture.open(kind);
    const { directory } = fixture;
    for (const account of ACCOUNTS) Deno.writeTextFileSync(`${directory}/${account}`, "0");
    const waits = await perform(fixture, "accounts", 50, cohort);
    assertEquals(waits["accounts"]?.length, PROCESSES * 50);
    const balances = new Map(ACCOUNTS.map((account) => [account, 0]));
    for (const move of Deno.readTextFileSync(`${directory}/moves`).trimEnd().split("\n")) {
      const [from, to] = move.split(" ") as [string, string];
      balances.set(from, balances.get(from)! - 1);
      balances.set(to, balances.get(to)! + 1);
    }
    for (const [account, balance] of balances) {
      assertEquals(Deno.readTextFileSync(`${directory}/${account}`), `${balance}`, `account ${account}`);
    }
  });

  Deno.test(`steal notifies the holder in another process soon, over ${where}`, async () => {
    await using fixture = await Fixture.open(kind);
    const [holder, thief] = await fixture.workers(2, cohort);
    const before = await holder!.ask({ do: "acquire", name: "job", options: { lease: 3_600_000 } }, "granted");
    // Its signal was read when it got the lock, so that it listens by now or, at the latest, looks when it does.
    const after = await thief!.ask({ do: "acquire", name: "job", options: { steal: true } }, "granted");
    // Its next renewal is 20 minutes away.
    await holder!.next("aborted");
    assert(BigInt(after.fence) > BigInt(before.fence));
    assertEquals((await holder!.ask({ do: "release", name: "job" }, "failed")).code, "lost");
  });
}
