import { assertEquals } from "@std/assert";
import { Handle } from "../../../src/internal/handoff/handle.ts";
import { LocalQueue } from "../../../src/internal/handoff/local_queue.ts";
import { claimOf } from "../../support/claims.ts";

Deno.test("LocalQueue.polls() is true for one handle, and sleepers() names the others", () => {
  const now = { monotonic: 1_000, wall: 1_000 };
  const queue = new LocalQueue(false);
  const handles = (["shared", "shared", "own", "shared"] as const).map((place) => {
    const handle = new Handle(claimOf("a"), now);
    handle.state = "queued";
    handle.place = place;
    queue.set(handle.id, handle);
    return handle;
  });
  assertEquals(handles.map((handle) => queue.polls(handle, now)), [true, false, false, false]);
  assertEquals(queue.sleepers(handles[0]!), [handles[1]!.id, handles[3]!.id]);
});
