import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import type { EtcdFetch } from "@holdfast/lock/etcd";
import { SystemClock } from "../../../src/time/clock.ts";
import { EtcdGateway } from "../../../src/stores/etcd/gateway.ts";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";
import { EtcdBackend } from "../../../src/stores/etcd/store.ts";

/** Returns a backend whose member gives this answer to everything. */
function answered(answer: object): EtcdBackend {
  const fetch = () => Promise.resolve(Response.json(answer));
  const { engine, prefix, ...settings } = checkEtcdOptions({ endpoints: ["http://127.0.0.1:1"], fetch });
  const clock = new SystemClock();
  return new EtcdBackend(new EtcdGateway({ engine, prefix, ...settings }, clock), prefix, clock);
}

const header = { revision: "7" };

Deno.test("EtcdGateway reads an answer that comes behind a late timer", async () => {
  const clock = new VirtualClock();
  // 3 s behind the limit, as in a process that stands still, and another second.
  for (const [after, outcome] of [[5_999, "answered"], [6_001, "no answer within 2000 ms"]] as const) {
    const fetch: EtcdFetch = (_url, { signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        clock.timer(after, () => resolve(Response.json({ header })));
      });
    const gateway = new EtcdGateway(checkEtcdOptions({ endpoints: ["http://127.0.0.1:1"], fetch }), clock);
    const answer = gateway.call("/v3/kv/range", {}).then(() => "answered", String);
    await settled();
    clock.stall(5_000);
    await clock.advance(1_001);
    assert((await answer).includes(outcome), await answer);
  }
});

Deno.test("EtcdBackend reads the answers of etcd, which leaves out what is empty", async () => {
  const kvs = [{ key: "YQ==", value: "eA==", mod_revision: "5" }];
  assertEquals(await answered({ header }).read("a"), { value: undefined, version: "0" });
  assertEquals(await answered({ header, kvs }).read("a"), { value: "x", version: "5" });
  assertEquals(await answered({ header, succeeded: true }).write("a", "x", "0"), { written: true, version: "7" });
  const responses = [{ response_range: { kvs } }];
  assertEquals(await answered({ header, responses }).write("a", "x", "0"), {
    written: false,
    found: { value: "x", version: "5" },
  });
});

Deno.test("EtcdBackend takes what etcd does not answer for no answer", async () => {
  const without = [{ key: "YQ==" }];
  const calls = [
    () => answered({ header, kvs: without }).read("a"),
    () => answered({ header, kvs: without }).list(1),
    () => answered({ header }).write("a", "x", "0"),
    () => answered({ header: {}, succeeded: true }).write("a", "x", "0"),
    () => answered({ header: { revision: "seven" }, succeeded: true }).write("a", "x", "0"),
    () => answered({ header, responses: [{ response_range: { kvs: without } }] }).write("a", "x", "0"),
  ];
  for (const call of calls) {
    const error = await assertRejects(call, Error, "The answer of etcd has no r");
    // It may have been executed, and a TypeError would end a wait at once.
    assert(!(error instanceof StoreError) && !(error instanceof TypeError));
  }
});
