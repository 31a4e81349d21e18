import { assertEquals } from "@std/assert";
import type { EtcdFetch } from "@holdfast/lock/etcd";
import { EtcdGateway } from "../../../src/stores/etcd/gateway.ts";
import { KeyPolls } from "../../../src/stores/etcd/key_polls.ts";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** Returns what polls every 500 ms in virtual time. */
function pollingWith(fetch: EtcdFetch): { readonly polls: KeyPolls; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  const gateway = new EtcdGateway(checkEtcdOptions({ endpoints: ["http://127.0.0.1:1"], fetch }), clock);
  return { polls: new KeyPolls(500, gateway, clock), clock };
}

Deno.test("KeyPolls.changed() polls again for a key that comes after the last one has left", async () => {
  let requests = 0;
  const fetch = () => {
    requests++;
    return Promise.resolve(Response.json({ responses: [{ response_range: { count: "1" } }] }));
  };
  const { polls, clock } = pollingWith(fetch);
  for (const expected of [1, 2]) {
    const over = new AbortController();
    const changed = polls.changed(btoa("a"), 5n, over.signal);
    await clock.advance(500);
    assertEquals(requests, expected);
    over.abort();
    assertEquals([await changed, clock.pending], [undefined, 0]);
  }
});

Deno.test("KeyPolls.changed() hears of keys behind a request that fails", async () => {
  let requests = 0;
  const fetch = (_: string, { body }: { readonly body: string }) => {
    if (++requests === 1) return Promise.reject(new Error("cut"));
    const { success } = JSON.parse(body);
    const range = { count: "1", kvs: [{ key: btoa("a"), mod_revision: "7" }] };
    return Promise.resolve(
      Response.json({ header: {}, responses: Array(success.length).fill({ response_range: range }) }),
    );
  };
  const { polls, clock } = pollingWith(fetch);
  const over = new AbortController();
  const heard = Array.from({ length: 101 }, (_, i) => polls.changed(btoa(`${i}`), 5n, over.signal));
  await clock.advance(500);
  assertEquals((await heard[100])?.kv.mod_revision, "7");
  over.abort();
  assertEquals(await Promise.all(heard.slice(0, 100)), Array(100).fill(undefined));
});
