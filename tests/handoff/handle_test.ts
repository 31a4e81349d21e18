import { assert } from "@std/assert";
import { before } from "../../src/time/clock.ts";
import { Handle } from "../../src/handoff/handle.ts";
import { claimOf } from "../support/claims.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

Deno.test("Handle.canLead() is true while an attempt of it is unanswered", () => {
  const now = { monotonic: 10_000, wall: 10_000 };
  const handle = new Handle(claimOf("a"), before(now, 10_000));
  assert(!handle.canLead(now), "nobody has attempted for long");
  void handle.sends(before(now, 5_000), new Promise<never>(() => {}));
  handle.state = "queued";
  assert(handle.canLead(now), "its caller waits for the answer");
});

Deno.test("Handle.canLead() is true for a while after its caller has listened", async () => {
  const clock = new VirtualClock();
  const handle = new Handle(claimOf("a"), clock.now());
  clock.stall(10_000);
  assert(!handle.canLead(clock.now()), "nobody has attempted for long");
  const over = new AbortController();
  const listening = handle.listen(clock, over.signal);
  over.abort();
  await listening;
  assert(handle.canLead(clock.now()), "its caller is about to attempt");
  clock.stall(3_000);
  assert(!handle.canLead(clock.now()), "its caller does not listen any longer");
});
