import { assert, assertEquals, assertRejects } from "@std/assert";
import type { QueryOptions, Snapshot } from "@holdfast/lock";
import { checkDashboardOptions } from "../../src/dashboard/options.ts";
import { RequestHandler } from "../../src/dashboard/request_handler.ts";
import { settled, VirtualClock } from "../../../../tests/support/virtual_clock.ts";
import { eventsOf, hold, stillStore, storeWith, visit } from "./visit.ts";

/** A dashboard on a clock that stands still, and a store that counts how often it is asked. */
class Scene implements Disposable {
  readonly clock = new VirtualClock();
  readonly locks = stillStore(this.clock);
  queries = 0;
  fault: Error | undefined;
  readonly handler: RequestHandler;

  constructor() {
    const store = storeWith({ query: (options) => this.#query(options) }, this.locks);
    this.handler = new RequestHandler(store, checkDashboardOptions({}), this.clock);
  }

  #query(options: QueryOptions | undefined): Promise<Snapshot> {
    this.queries++;
    return this.fault === undefined ? this.locks.query(options) : Promise.reject(this.fault);
  }

  /** Opens a stream of events. */
  async open(path: string) {
    return eventsOf(await visit((request) => this.handler.handle(request), path));
  }

  [Symbol.dispose](): void {
    this.handler.close();
  }
}

Deno.test("events/list sends the list, and again when it has changed", async () => {
  using scene = new Scene();
  const events = await scene.open("/events/list");
  assertEquals((await events.next("view"))["summary"], "No lock is held or waited for.");
  const holder = await hold(scene.locks, "a");
  await scene.clock.advance(500);
  const { html, summary } = await events.next("view");
  assert(html!.includes('data-key="a"'), html);
  assertEquals(summary, "1 lock held, 0 handles waiting, 0 locks contended.");
  await scene.locks.release(holder);
  await scene.clock.advance(500);
  assertEquals((await events.next("view"))["summary"], "No lock is held or waited for.");
  await events.cancel();
});

Deno.test("events/lock sends the lock, and again when it has changed", async () => {
  using scene = new Scene();
  const events = await scene.open("/events/lock?name=a");
  assertEquals((await events.next("view"))["summary"], "Held by nobody; 0 handles waiting.");
  const holder = await hold(scene.locks, "a", { host: "h", pid: "1" });
  await scene.clock.advance(500);
  assertEquals((await events.next("view"))["summary"], "Held by h/1; 0 handles waiting.");
  await scene.locks.release(holder);
  await events.cancel();
});

Deno.test("events/list filters like the page", async () => {
  using scene = new Scene();
  await hold(scene.locks, "a:1");
  await hold(scene.locks, "b:1");
  const events = await scene.open("/events/list?match=a");
  const { html } = await events.next("view");
  assert(html!.includes("a%3A1") && !html!.includes("b%3A1"), html);
  await events.cancel();
});

Deno.test("events/list sends what the store says is wrong, and goes on", async () => {
  using scene = new Scene();
  scene.fault = new Error("no route");
  const events = await scene.open("/events/list");
  assertEquals(await events.next("fault"), { message: "The store did not answer: no route" });
  scene.fault = undefined;
  await scene.clock.advance(500);
  await events.next("view");
  await events.cancel();
});

Deno.test("events share one poll of the same view, which ends with the last browser", async () => {
  using scene = new Scene();
  const open = [await scene.open("/events/list"), await scene.open("/events/list"), await scene.open("/events/list")];
  for (const events of open) await events.next("view");
  assertEquals(scene.queries, 1);
  await scene.clock.advance(500);
  assertEquals(scene.queries, 2);
  for (const events of open) await events.cancel();
  await settled();
  assertEquals([scene.handler.polled, scene.clock.pending], [0, 0]);
  await scene.clock.advance(10_000);
  assertEquals(scene.queries, 2);
});

Deno.test("events of different parts of a list share one poll", async () => {
  using scene = new Scene();
  await hold(scene.locks, "a");
  await hold(scene.locks, "b");
  const paths = ["/events/list?limit=1", "/events/list?limit=1&page=2", "/events/list?contended=1"];
  const open = await Promise.all(paths.map((path) => scene.open(path)));
  const views = await Promise.all(open.map((events) => events.next("view")));
  assertEquals(views.map(({ html }) => /data-key="(\w)"/.exec(html!)?.[1]), ["a", "b", undefined]);
  assertEquals([scene.queries, scene.handler.polled], [1, 2]);
  for (const events of open) await events.cancel();
});

Deno.test("events of different views are polled each by itself", async () => {
  using scene = new Scene();
  const open = [await scene.open("/events/lock?name=a"), await scene.open("/events/lock?name=b")];
  for (const events of open) await events.next("view");
  assertEquals([scene.queries, scene.handler.polled], [2, 2]);
  for (const events of open) await events.cancel();
});

Deno.test("events keep a silent connection alive", async () => {
  using scene = new Scene();
  const response = await visit((request) => scene.handler.handle(request), "/events/lock?name=a");
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (; !text.includes("event: view"); text += (await reader.read()).value);
  assert(text.startsWith("retry: 1000\n\n"), text);
  await scene.clock.advance(15_000);
  assertEquals((await reader.read()).value, ":\n\n");
  await reader.cancel();
});

Deno.test("events end, with all that they need, when the dashboard is disposed", async () => {
  const scene = new Scene();
  const events = await scene.open("/events/list");
  await events.next("view");
  scene[Symbol.dispose]();
  await assertRejects(() => events.next("view"), Error, "ended");
  await settled();
  assertEquals([scene.handler.polled, scene.clock.pending], [0, 0]);
});

Deno.test("events send a browser that does not read the latest state only", async () => {
  using scene = new Scene();
  const response = await visit((request) => scene.handler.handle(request), "/events/lock?name=a");
  await settled();
  for (let i = 0; i < 20; i++) {
    const holder = await hold(scene.locks, "a", {}, `owner ${i}`);
    await scene.clock.advance(500);
    if (i < 19) await scene.locks.release(holder);
  }
  const events = eventsOf(response);
  assertEquals((await events.next("view"))["summary"], "Held by owner 19; 0 handles waiting.");
  await events.cancel();
});
