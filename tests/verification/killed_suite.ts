import { assert, assertEquals } from "@std/assert";
import { acquire, type Store, tryAcquire } from "@holdfast/lock";
import { until } from "../support/until.ts";

/** The lease of the process that is killed, in milliseconds. */
const LEASE = 3_000;

/** How far its clock may be from that of the others, in milliseconds. */
const SKEW = 1_500;

/** Where a process holds the lock "a", and is killed. */
export interface KilledFixture extends AsyncDisposable {
  /** Kills a process that holds the lock with a lease. Resolves to the fence, and to when the lease ends. */
  kill(lease: number): Promise<{ readonly fence: bigint; readonly end: number }>;
  /** Returns a store object that has seen nothing yet. */
  store(maxClockSkew: number): Store;
  /** The same, which does not hand on. */
  engine(): Promise<Store>;
}

/** What {@linkcode killedSuite} takes. */
export interface KilledSuiteOptions {
  /** What is tested, for the names of the tests. */
  readonly of: string;
  readonly ignore: boolean;
  readonly open: () => KilledFixture;
}

/** Defines the tests of who succeeds a killed process on a store without a clock of its own, and when. */
export function killedSuite({ of, ignore, open }: KilledSuiteOptions): void {
  const test = (name: string, run: (place: KilledFixture, fence: bigint, end: number) => Promise<void>) => {
    Deno.test({
      name: `${name} on ${of}`,
      ignore,
      async fn() {
        await using place = open();
        const { fence, end } = await place.kill(LEASE);
        await run(place, fence, end);
      },
    });
  };
  /** Resolves to when it is granted, after the end of the lease. */
  const granted = async (place: KilledFixture, fence: bigint, end: number) => {
    let late = 0;
    await until(
      async () => {
        const lock = await tryAcquire(place.store(SKEW), "a");
        late = Date.now() - end;
        if (lock === null) return false;
        assert(lock.fence > fence);
        await lock.release();
        return true;
      },
      "it is granted",
      30_000,
    );
    return late;
  };

  test("tryAcquire() succeeds a killed process maxClockSkew after its lease", async (place, fence, end) => {
    const late = await granted(place, fence, end);
    assert(late >= SKEW, `${late} ms after its end`);
  });

  test("acquire() succeeds a killed process once it has watched for a lease", async (place, fence) => {
    const started = performance.now();
    // By no clock of the other process.
    await using lock = await acquire(place.store(Infinity), "a", { wait: LEASE + 20_000 });
    const waited = performance.now() - started;
    assert(waited >= LEASE && lock.fence > fence, `${waited} ms`);
  });

  test("tryAcquire() succeeds a killed process past a waiter that has died", async (place, fence, end) => {
    const dead = await place.engine();
    const claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE } as const;
    assertEquals((await dead.attempt(claim, { enqueue: true })).granted, false);
    await granted(place, fence, end);
  });
}
