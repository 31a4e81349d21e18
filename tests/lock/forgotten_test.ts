// Deno only: it asks V8 for its garbage collector.
// Alone: to collect garbage takes as long as memory is in use.
import { assert, assertEquals } from "@std/assert";
import { acquireAll, type AcquireOptions, type Lock } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { Lease } from "../../src/lock/lease.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { until } from "../support/until.ts";
import { ScriptedStore } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** A store whose locks are held for 900 ms unless they are renewed. */
class Scene {
  readonly clock = new VirtualClock();
  readonly store = new ScriptedStore(this.clock);

  async attain(name: string, options: AcquireOptions = {}): Promise<Lock> {
    const lock = await acquireFrom(this.store, name, checkAcquireOptions({ lease: 900, ...options }), this.clock);
    assert(lock !== null, "granted");
    return lock;
  }

  /** Renews everything often enough to notice what is garbage, and lets leases that are not renewed end. */
  async pass(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) {
      await settled();
      collectGarbage();
      await this.clock.advance(300);
    }
  }

  get lost(): string[] {
    return this.store.events.filter((event) => event.type === "lost").map((event) => event.name);
  }
}

Deno.test("Lock whose handle is garbage is renewed, and one warning is given", async () => {
  const scene = new Scene();
  const warnings: string[] = [];
  const warn = ({ name, message }: Error) => void (name === "HoldfastWarning" && warnings.push(message));
  process.on("warning", warn);
  await scene.attain("dropped");
  await scene.attain("dropped too");
  await scene.pass();
  process.off("warning", warn);
  assertEquals(scene.lost, []);
  assertEquals(scene.store.times("renew").length, 2 * 10);
  assertEquals(warnings.length, 1);
  assert(warnings[0]!.includes('"dropped"') && warnings[0]!.includes("await using"), warnings[0]);
});

Deno.test("Lock whose handle is in use is renewed", async () => {
  const scene = new Scene();
  const lock = await scene.attain("kept");
  await scene.pass();
  assertEquals([scene.lost, lock.held], [[], true]);
  await lock.release();
});

Deno.test("Lock whose signal was read is renewed without a warning", async () => {
  const scene = new Scene();
  const { signal } = await scene.attain("watched");
  await scene.pass();
  assertEquals([scene.lost, signal.aborted, scene.clock.pending], [[], false, 1]);
});

Deno.test("Lock that was released or lost becomes garbage", async () => {
  const scene = new Scene();
  const use = async () => {
    const released = await scene.attain("released");
    await released.release();
    const lost = await scene.attain("lost", { renew: false });
    await scene.clock.advance(900);
    return [new WeakRef(released), new WeakRef(lost)];
  };
  const handles = await use();
  await scene.pass();
  assertEquals(handles.map((handle) => handle.deref()), [undefined, undefined]);
});

Deno.test("Lease that was ended or lost is kept by nobody", async () => {
  const scene = new Scene();
  const { clock, store } = scene;
  const use = async () => {
    const settings = checkAcquireOptions({ lease: 900, renew: false });
    const begin = (name: string) => {
      const claim = { name, owner: "me", mode: "exclusive", lease: 900 } as const;
      const lease = new Lease(store, claim, settings, clock.now(), clock);
      assert(lease.begin(1n), "it begins");
      return lease;
    };
    const [ended, lost] = [begin("ended"), begin("lost")];
    ended.end();
    await clock.advance(900);
    return [new WeakRef(ended), new WeakRef(lost)];
  };
  const leases = await use();
  assertEquals(scene.lost, ["lost"]);
  // The stack of an error that was told keeps whoever made it.
  store.events.length = 0;
  await scene.pass();
  assertEquals(leases.map((lease) => lease.deref()), [undefined, undefined]);
});

Deno.test("Lock that is never renewed ends with its lease, handle or not", async () => {
  const scene = new Scene();
  await scene.attain("cool-down", { lease: 60_000, renew: false });
  await scene.pass();
  assertEquals([scene.lost, scene.clock.pending], [[], 1]);
});

Deno.test("MultiLock keeps its locks", async () => {
  let renewals = 0;
  const store = memory({ observer: ({ type }) => void (type === "renewed" && renewals++) });
  const locks = await acquireAll(store, ["a", "b"], { lease: 60_000, renew: 10 });
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await until(() => renewals >= 4 * (round + 1), "both are renewed");
  }
  assert(locks.held, "held");
  await locks.release();
});
