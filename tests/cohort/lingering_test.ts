// Deno only: it starts processes of Deno.
import { assert } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { DenoProcess } from "../support/deno_process.ts";

/** Shorter than the lease that the lock was acquired with, and longer than the one that is left, in milliseconds. */
const WAIT = 90_000;

/** Runs a process that lingers, and then a test with its file. */
async function after(how: "end" | "exit" | "stay", test: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_cohort_" });
  try {
    const path = `${folder}/locks.db`;
    {
      await using process = new DenoProcess(import.meta.resolve("./lingering.ts"), path, how);
      for await (const line of process.lines) if (how === "stay" && line === "shortened") break;
      if (how !== "stay") assert((await process.status).success);
    }
    await test(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("cohort() keeps the process alive while it lingers, and gives back", async () => {
  await after("end", async (path) => {
    using store = sqlite(path);
    const lock = await tryAcquire(store, "a");
    assert(lock !== null, "nothing is left");
    await lock.release();
  });
});

for (const how of ["exit", "stay"] as const) {
  Deno.test(`cohort() leaves a short lease when its process ${how === "exit" ? "exits" : "is killed"}`, async () => {
    await after(how, async (path) => {
      using store = sqlite(path);
      await (await acquire(store, "a", { wait: WAIT })).release();
    });
  });
}
