// Deno only: it needs Deno.openKv, and starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { DatabaseSync } from "node:sqlite";
import { acquire, type Observer, type Store, StoreError, tryAcquire } from "@holdfast/lock";
import { denoKv } from "@holdfast/lock/deno-kv";
import { storeSuite } from "@holdfast/testing";
import { killHolder } from "../../support/killed_holder.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { runSource } from "../../support/run_source.ts";
import { engineOn } from "./engine.ts";
import { documentOf, Place } from "./place.ts";

storeSuite({
  test: (name, run) => Deno.test(`denoKv() in a file: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const place = new Place("file");
    return {
      connect: async () => engineOn(await place.open()),
      leftovers: () => place.used(),
      restart: () => place.close(),
      close: () => place[Symbol.dispose](),
    };
  },
});

const LEASE = 2_000;

/** Runs a process that acquires the lock "a", and kills it while it holds that. Returns its fence. */
function killHolderIn(place: Place): Promise<bigint> {
  return killHolder(new URL("holder_process.ts", import.meta.url), place.path, `${LEASE}`);
}

/** Returns when the lease of the killed process ends, by its clock. */
async function endOfLease(kv: Deno.Kv): Promise<number> {
  const [holder] = (await documentOf(kv, "a")).holders;
  assert(holder !== undefined, "it is still in the document");
  return holder.end;
}

Deno.test("acquire() gets the lock of a killed process once it has watched for a lease", async () => {
  using place = new Place("file");
  const fence = await killHolderIn(place);
  const kv = await place.open();
  const started = performance.now();
  await using lock = await acquire(denoKv(kv), "a", { wait: HANG_MS });
  const waited = performance.now() - started;
  assert(waited >= LEASE, `${waited} ms`);
  assert(lock.fence > fence);
});

for (const maxClockSkew of [0, 1_500]) {
  Deno.test(`tryAcquire() gets the lock of a killed process ${maxClockSkew} ms after its lease`, async () => {
    using place = new Place("file");
    const fence = await killHolderIn(place);
    const kv = await place.open();
    const end = await endOfLease(kv);
    // Each time a store object that has seen nothing yet.
    const get = (skew: number) => tryAcquire(denoKv(kv, { maxClockSkew: skew }), "a");
    await until(async () => {
      // A request that is late, by the short lease in the document, is a fault.
      const lock = await get(maxClockSkew).catch((error) => {
        if (!(error instanceof StoreError)) throw error;
        return null;
      });
      if (lock === null) return false;
      const late = Date.now() - end;
      assert(late >= maxClockSkew, `${late} ms after its end`);
      assert(lock.fence > fence);
      await lock.release();
      return true;
    }, "it is granted");
  });
}

Deno.test("tryAcquire() with an infinite maxClockSkew goes by no clock of a killed process", async () => {
  using place = new Place("file");
  await killHolderIn(place);
  const kv = await place.open();
  const end = await endOfLease(kv);
  await until(() => Date.now() > end + LEASE, "its lease is over");
  assertEquals(await tryAcquire(denoKv(kv, { maxClockSkew: Infinity }), "a"), null);
});

Deno.test("acquire() goes on when another program has the file for itself meanwhile", async () => {
  using place = new Place("file");
  const store = denoKv(await place.open());
  await (await acquire(store, "a")).release();
  using other = new DatabaseSync(place.path);
  other.exec("BEGIN IMMEDIATE");
  const faults: unknown[] = [];
  const observed = denoKv(await place.open(), {
    observer: (event) => {
      if (event.type === "fault") faults.push(event);
    },
  });
  const waiting = acquire(observed, "a", { wait: HANG_MS });
  await until(() => faults.length > 0, "it was refused");
  other.exec("COMMIT");
  await (await waiting).release();
});

Deno.test("denoKv() on a file that is open twice finds it locked, and never has two holders", async () => {
  using place = new Place("file");
  using again = await Deno.openKv(place.path);
  const kvs = [await place.open(), again];
  const refusals: string[] = [];
  let holders = 0;
  const work = async (store: Store) => {
    while (refusals.length === 0) {
      await using _lock = await acquire(store, "a");
      assertEquals(++holders, 1);
      await delay(1);
      holders--;
    }
  };
  const observer: Observer = (event) => {
    if (event.type === "fault") refusals.push(String(event.error));
  };
  await Promise.all(kvs.map((kv) => work(denoKv(kv, { observer }))));
  assert(refusals[0]!.includes("database is locked"), refusals[0]);
});

Deno.test("denoKv() names the flag where Deno.openKv is missing", async () => {
  const program = `
    import { denoKv } from ${JSON.stringify(new URL("../../../src/stores/deno_kv/mod.ts", import.meta.url).href)};
    denoKv(await Deno.openKv?.(":memory:"));
  `;
  const { success, err } = await runSource(program, {
    flags: ["--no-config", "--no-check", "--ext=ts", "--allow-all"],
  });
  assertEquals(success, false);
  assert(/TypeError: kv must be a Deno\.Kv, .* --unstable-kv: got undefined/.test(err), err);
});

Deno.test("acquire() lets a process exit that holds a lock and reads its signal", async () => {
  const program = `
    import { acquire } from "./mod.ts";
    import { denoKv } from "./src/stores/deno_kv/mod.ts";
    const store = denoKv(await Deno.openKv(":memory:"));
    (await acquire(store, "a", { lease: 600_000 })).signal.throwIfAborted();
    console.log("end");`;
  const cwd = new URL("../../../", import.meta.url);
  const flags = ["--allow-all", "--unstable-kv"];
  const { out, err, success } = await runSource(program, { flags, cwd, limit: HANG_MS });
  assertEquals([out, success], ["end\n", true], err);
});
