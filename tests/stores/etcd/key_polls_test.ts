import { assertEquals } from "@std/assert";
import { EtcdGateway } from "../../../src/stores/etcd/gateway.ts";
import { KeyPolls } from "../../../src/stores/etcd/key_polls.ts";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

Deno.test("KeyPolls.changed() polls again for a key that comes after the last one has left", async () => {
  let requests = 0;
  const fetch = () => {
    requests++;
    return Promise.resolve(Response.json({ responses: [{ response_range: { count: "1" } }] }));
  };
  const clock = new VirtualClock();
  const polls = new KeyPolls(
    500,
    new EtcdGateway(checkEtcdOptions({ endpoints: ["http://127.0.0.1:1"], fetch }), clock),
    clock,
  );
  for (const expected of [1, 2]) {
    const over = new AbortController();
    const changed = polls.changed(btoa("a"), 5n, over.signal);
    await clock.advance(500);
    assertEquals(requests, expected);
    over.abort();
    assertEquals([await changed, clock.pending], [undefined, 0]);
  }
});
