import { assert, assertEquals } from "@std/assert";
import { ZookeeperConnection } from "../../../src/stores/zookeeper/client.ts";
import { NodeWatches } from "../../../src/stores/zookeeper/watch.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";
import { ScriptedClient } from "./scripted_client.ts";

const PATH = "/locks/YQ";

/** Watches of a scripted client. */
class Watched {
  readonly scripted = new ScriptedClient();
  readonly #watches = new NodeWatches(new ZookeeperConnection(this.scripted.client, new VirtualClock()));

  /** Waits for another version of the node. Returns how that has ended so far, and what ends it. */
  waiter(version: number | undefined): { readonly ended: unknown[]; readonly leave: () => Promise<void> } {
    const over = new AbortController();
    const ended: unknown[] = [];
    const watch = this.#watches.changed(PATH, version, over.signal).then(() => "changed", (error) => error.message);
    const noted = watch.then((end) => ended.push(end));
    return { ended, leave: () => (over.abort(), noted.then(() => {})) };
  }

  /** Lets the server answer what was requested. */
  async answered(error?: unknown): Promise<void> {
    await settled();
    this.scripted.answer(error);
    await settled();
  }
}

Deno.test("NodeWatches sets a watch anew after one that could not be set", async () => {
  const watched = new Watched();
  const failed = [watched.waiter(1), watched.waiter(1)];
  await watched.answered(new Error("connection lost"));
  assertEquals(failed.map(({ ended }) => ended), [["connection lost"], ["connection lost"]]);
  const next = watched.waiter(1);
  await watched.answered();
  assertEquals([next.ended, watched.scripted.watchers.length], [[], 1]);
  watched.scripted.change();
  await settled();
  assertEquals(next.ended, ["changed"]);
});

Deno.test("NodeWatches sets a watch anew after one that has fired", async () => {
  const watched = new Watched();
  for (const version of [1, 2, 3]) {
    const waiter = watched.waiter(version);
    await watched.answered();
    assertEquals([waiter.ended, watched.scripted.watchers.length], [[], 1]);
    watched.scripted.change();
    await settled();
    assertEquals(waiter.ended, ["changed"]);
  }
});

Deno.test("NodeWatches resolves at once where the node has another version than the waiter", async () => {
  const watched = new Watched();
  const [same, other, absent] = [watched.waiter(1), watched.waiter(0), watched.waiter(undefined)];
  await watched.answered();
  assertEquals([same.ended, other.ended, absent.ended], [[], ["changed"], ["changed"]]);
  const late = watched.waiter(0);
  await settled();
  assertEquals([late.ended, watched.scripted.requested], [["changed"], []], "by the watch that is set");
  await same.leave();
});

Deno.test("NodeWatches keeps a watch that nobody waits for, and it serves the next one", async () => {
  const watched = new Watched();
  const first = watched.waiter(1);
  await watched.answered();
  await first.leave();
  const next = watched.waiter(1);
  await settled();
  assert(watched.scripted.requested.length === 0 && next.ended.length === 0);
  watched.scripted.change();
  await settled();
  assertEquals(next.ended, ["changed"]);
});

Deno.test("NodeWatches wakes for a change that comes while the watch is being set", async () => {
  const watched = new Watched();
  const waiter = watched.waiter(1);
  await settled();
  watched.scripted.change();
  await watched.answered();
  assertEquals(waiter.ended, ["changed"]);
});
