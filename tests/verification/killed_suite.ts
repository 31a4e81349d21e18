import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { acquire, LockTimeoutError, type Store, StoreError, tryAcquire } from "@holdfast/lock";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import type { Clock } from "../../src/time/clock.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { until } from "../support/until.ts";
import { WrongClock } from "../support/wrong_clock.ts";

/** The lease of the process that is killed, and how long callers wait, in milliseconds. */
const LEASE = 3_000;
const WAIT = 1_000;

/** For how long a process holds the lock until its document names a timer, in milliseconds. */
const RENEWED = 2_300;

/** When an election is over, the lease and a timer, on a busy machine, in milliseconds. */
const SUCCEEDED = 60_000;

/** Where a process holds the lock "a", and is killed. */
export interface KilledFixture extends AsyncDisposable {
  /** Kills a process that has held the lock with a lease for so many milliseconds. Resolves to the fence. */
  kill(lease: number, held: number): Promise<bigint>;
  /** Returns a store object that has seen nothing yet. */
  store(): Store;
  /** The same, which does not hand on. */
  engine(clock?: Clock): Promise<Store>;
  /** Writes the document as a version does that knows no timers. */
  forgetTimers(): Promise<void>;
}

/** What {@linkcode killedSuite} takes. */
export interface KilledSuiteOptions {
  /** What is tested, for the names of the tests. */
  readonly of: string;
  readonly ignore: boolean;
  readonly open: () => KilledFixture;
}

/** Lets callers want the lock "a", each in a store object of its own, until one is granted it with a higher fence. */
export async function succeeds(store: () => Store, fence: bigint, wait = WAIT): Promise<void> {
  const attempt = async () => {
    try {
      const lock = wait === 0 ? await tryAcquire(store(), "a") : await acquire(store(), "a", { wait });
      if (lock === null) return false;
      assert(lock.fence > fence);
      await lock.release();
      return true;
    } catch (error) {
      if (error instanceof LockTimeoutError || error instanceof StoreError) return false;
      throw error;
    }
  };
  await until(attempt, "somebody is granted the lock", SUCCEEDED);
}

/** Defines the tests of who succeeds a killed process on a store whose server has timers. */
export function killedSuite({ of, ignore, open }: KilledSuiteOptions): void {
  const test = (name: string, run: (place: KilledFixture) => Promise<void>) => {
    Deno.test({
      name: `${name} on ${of}`,
      ignore,
      async fn() {
        await using place = open();
        await run(place);
      },
    });
  };

  for (const wait of [0, WAIT]) {
    const who = wait === 0 ? "tryAcquire() of new processes" : "acquire() of new processes with short waits";
    test(`${who} succeeds one that was killed before a renewal`, async (place) => {
      const fence = await place.kill(LEASE, 0);
      const since = performance.now();
      await succeeds(() => place.store(), fence, wait);
      assert(performance.now() - since >= LEASE);
    });

    test(`${who} succeeds one that was killed after renewals`, async (place) => {
      await succeeds(() => place.store(), await place.kill(LEASE, RENEWED), wait);
    });
  }

  test("tryAcquire() succeeds a killed process of a version without timers", async (place) => {
    const fence = await place.kill(LEASE, RENEWED);
    await place.forgetTimers();
    await succeeds(() => place.store(), fence, 0);
  });

  test("tryAcquire() succeeds a killed process past a waiter that has died", async (place) => {
    const fence = await place.kill(LEASE, 0);
    const dead = await place.engine();
    const claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE } as const;
    assertEquals((await dead.attempt(claim, { enqueue: true })).granted, false);
    await succeeds(() => place.store(), fence, 0);
  });

  test("acquire() succeeds a killed process once it has watched for a lease", async (place) => {
    const fence = await place.kill(LEASE, 0);
    await using lock = await acquire(place.store(), "a", { wait: LEASE + 20_000 });
    assert(lock.fence > fence);
  });

  test("tryAcquire() by a clock that is a minute ahead takes no lock of a live holder", async (place) => {
    await using lock = await acquire(place.store(), "a", { lease: LEASE, wait: WAIT });
    const since = performance.now();
    while (performance.now() - since < 2 * LEASE && lock.held) {
      const clock = new WrongClock(60_000);
      const settings = checkAcquireOptions({ wait: 0, lease: LEASE });
      const other = await acquireFrom(await place.engine(clock), "a", settings, clock);
      assert(other === null || !lock.held, "two hold the lock");
      await other?.release();
      await delay(100);
    }
  });
}
