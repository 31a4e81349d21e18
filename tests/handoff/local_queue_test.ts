import { assertEquals } from "@std/assert";
import { Handle } from "../../src/handoff/handle.ts";
import { LocalQueue } from "../../src/handoff/local_queue.ts";
import { claimOf } from "../support/claims.ts";

Deno.test("LocalQueue.polls() is true for one handle, and sleepers() names the others", () => {
  const now = { monotonic: 1_000, wall: 1_000 };
  const queue = new LocalQueue({ keeps: false, long: false, direct: undefined });
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

Deno.test("LocalQueue.sleepers() names 1,000 at most", () => {
  const now = { monotonic: 1_000, wall: 1_000 };
  const queue = new LocalQueue({ keeps: false, long: false, direct: undefined });
  const handles = Array.from({ length: 1_010 }, () => {
    const handle = new Handle(claimOf("a"), now);
    handle.state = "queued";
    handle.place = "shared";
    queue.set(handle.id, handle);
    return handle;
  });
  assertEquals(queue.sleepers(handles[0]!), handles.slice(1, 1_001).map(({ id }) => id));
});

Deno.test("LocalQueue.asks() is true for one sleeper, and after ten minutes for another", () => {
  const queue = new LocalQueue({ keeps: false, long: false, direct: undefined });
  const at = (ms: number) => ({ monotonic: ms, wall: ms });
  const [first, second] = [600_500, 1_000].map((asked) => {
    const handle = new Handle(claimOf("a"), at(asked));
    handle.state = "queued";
    handle.place = "shared";
    queue.set(handle.id, handle);
    return handle;
  });
  const asks = (handle: Handle, ms: number) => queue.asks(handle, at(ms), "here", undefined);
  assertEquals([asks(first!, 600_999), asks(second!, 600_999)], [true, false]);
  assertEquals(asks(second!, 601_000), true);
});
