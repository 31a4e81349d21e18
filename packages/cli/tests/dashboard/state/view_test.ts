import { assertEquals } from "@std/assert";
import { ifChanged, type Update, View, Views } from "../../../src/dashboard/state/view.ts";
import { settled, VirtualClock } from "../../../../../tests/support/virtual_clock.ts";

/** A view of a number that a test sets, and how often it was read. */
class Scene {
  readonly clock = new VirtualClock();
  value: number | Error = 1;
  reads = 0;
  took = 0;

  make(): View<number> {
    return new View(
      () => {
        this.reads++;
        this.clock.stall(this.took);
        return this.value instanceof Error ? Promise.reject(this.value) : Promise.resolve(this.value);
      },
      500,
      this.clock,
    );
  }
}

/** A viewer that notes what it is shown. */
function viewer(): { readonly seen: Update<number>[]; readonly view: (update: Update<number>) => void } {
  const seen: Update<number>[] = [];
  return { seen, view: (update) => seen.push(update) };
}

Deno.test("View reads once for all viewers, and shows each what it reads", async () => {
  const scene = new Scene();
  const view = scene.make();
  const [first, second] = [viewer(), viewer()];
  view.add(first.view);
  await settled();
  view.add(second.view);
  assertEquals([first.seen, second.seen], [[{ model: 1 }], [{ model: 1 }]]);
  scene.value = 2;
  await scene.clock.advance(500);
  assertEquals(scene.reads, 2);
  assertEquals([first.seen, second.seen], [[{ model: 1 }, { model: 2 }], [{ model: 1 }, { model: 2 }]]);
  view.remove(first.view);
  view.remove(second.view);
});

Deno.test("ifChanged() calls a viewer with what differs from the update before", () => {
  const { seen, view } = viewer();
  const changed = ifChanged(view);
  for (const update of [{ model: 1 }, { model: 1 }, { fault: "x" }, { fault: "x" }, { model: 1 }]) changed(update);
  assertEquals(seen, [{ model: 1 }, { fault: "x" }, { model: 1 }]);
});

Deno.test("View tells what reads that nobody looks any more", async () => {
  const aborted: boolean[] = [];
  const scene = new Scene();
  const view = new View(
    (signal) => {
      signal.addEventListener("abort", () => aborted.push(true));
      return Promise.resolve(1);
    },
    500,
    scene.clock,
  );
  const { view: look } = viewer();
  view.add(look);
  await settled();
  view.remove(look);
  assertEquals(aborted, [true]);
});

Deno.test("View stops when nobody looks", async () => {
  const scene = new Scene();
  const view = scene.make();
  const { view: look } = viewer();
  view.add(look);
  await scene.clock.advance(500);
  view.remove(look);
  await settled();
  assertEquals(scene.clock.pending, 0);
  await scene.clock.advance(5_000);
  assertEquals(scene.reads, 2);
});

Deno.test("View shows nothing that it reads after the last viewer has gone", async () => {
  const scene = new Scene();
  const view = scene.make();
  const { seen, view: look } = viewer();
  view.add(look);
  view.remove(look);
  await settled();
  assertEquals([seen, scene.clock.pending], [[], 0]);
});

Deno.test("View says why it cannot read, and goes on", async () => {
  const scene = new Scene();
  scene.value = new Error("no route to host");
  const view = scene.make();
  const { seen, view: look } = viewer();
  view.add(look);
  await settled();
  scene.value = 3;
  await scene.clock.advance(500);
  assertEquals(seen, [{ fault: "no route to host" }, { model: 3 }]);
  view.remove(look);
});

Deno.test("View takes at most a fifth of the time of a slow store", async () => {
  const scene = new Scene();
  scene.took = 1_000;
  const view = scene.make();
  const { view: look } = viewer();
  view.add(look);
  await settled();
  await scene.clock.advance(10_000);
  assertEquals(scene.reads, 3);
  view.remove(look);
});

Deno.test("Views.watch() shares a view, and makes a new one after the last viewer", async () => {
  const scene = new Scene();
  const views = new Views<number>();
  let made = 0;
  const watch = () =>
    views.watch("key", () => {
      made++;
      return scene.make();
    }, () => {});
  const [first, second] = [watch(), watch()];
  first();
  assertEquals([made, views.size], [1, 1]);
  second();
  assertEquals(views.size, 0);
  const third = watch();
  first();
  assertEquals([made, views.size], [2, 1]);
  third();
  await settled();
  assertEquals(scene.clock.pending, 0);
});
