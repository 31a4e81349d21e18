// Deno only: it needs diagnostics channels, which not every runtime has.
import { assert, assertEquals } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { dashboard } from "@holdfast/cli/dashboard";
import { memory } from "@holdfast/lock/memory";
import { channel } from "node:diagnostics_channel";
import { eventsOf, textOf, visit } from "../visit.ts";

Deno.test("dashboard() counts what the locks of its process do, in any store", async () => {
  using pages = dashboard(memory());
  assert(!(await textOf(pages, "/")).includes("Seen by this process"), "nothing yet");
  const store = memory();
  const lock = await acquire(store, "invoice:1");
  await tryAcquire(store, "invoice:1");
  await lock.release();
  const text = await textOf(pages, "/");
  assert(text.includes("Seen by this process"), text);
  assert(/<bdi class="text">invoice:<\/bdi>\*/.test(text), text);
  assert(text.includes('data-label="Acquired">1<') && text.includes('data-label="Given up">1 (busy 1)<'), text);
});

Deno.test("dashboard() sends the counters once this process has used a lock", async () => {
  using pages = dashboard(memory(), { refresh: 100 });
  const events = eventsOf(await visit(pages, "/events/list"));
  assertEquals((await events.next("counters"))["html"], "");
  const lock = await acquire(memory(), "invoice:42");
  await lock.release();
  const { html } = await events.next("counters");
  assert(/Seen by this process.*invoice:/s.test(html!), html);
  await events.cancel();
});

Deno.test("dashboard() counts nothing once it is disposed", async () => {
  const events = channel("holdfast:lock");
  const before = events.hasSubscribers;
  const pages = dashboard(memory());
  assertEquals(events.hasSubscribers, true);
  pages[Symbol.dispose]();
  pages[Symbol.dispose]();
  assertEquals(events.hasSubscribers, before);
  await textOf(pages, "/");
});

Deno.test("dashboard() counts only events of locks", async () => {
  using pages = dashboard(memory());
  for (const message of [undefined, null, "text", {}, { type: "acquired" }, { type: "acquired", name: 1 }]) {
    channel("holdfast:lock").publish(message);
  }
  assert(!(await textOf(pages, "/")).includes("Seen by this process"), "nothing");
});
