// Deno only: it tests a tool for Deno.
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Redis } from "ioredis";
import { SentinelDeployment } from "../../../deployments/sentinel.ts";
import type { RedisServer } from "../../../support/redis_server.ts";
import { Random } from "../../../simulation/kernel/random.ts";
import { until } from "../../../support/until.ts";
import { strikes } from "../strikes.ts";
import { promoting } from "./server_faults.ts";
import { single } from "../deployments/single.ts";

/** What a fault does to a server, as a client that is connected to it sees that while it lasts, or afterwards. */
const EFFECTS: Readonly<Record<string, (client: Redis, server: RedisServer) => Promise<unknown>>> = {
  "SCRIPT FLUSH": (client) => client.evalsha(SHA, 0),
  "FLUSHALL": (client) => client.exists("kept").then(fails),
  "CLIENT KILL": (client) => Promise.resolve(client.status === "ready").then(fails),
  "CLIENT PAUSE": (client) => atOnce(client.set("a", 1, "PX", 1)),
  "out of memory": (client) => client.set("a", 1, "PX", 1),
  "eviction": (client) => client.exists("kept").then(fails),
  "server frozen": (client) => atOnce(client.ping()),
  "server killed": (client) => client.ping(),
  "server wiped": (client) => client.exists("kept").then(fails),
  "clock set": async (client) => {
    const [seconds, micros] = await client.time();
    fails(Math.abs(Number(seconds) * 1_000 + Number(micros) / 1_000 - Date.now()) < 50);
  },
};

/** A script that does nothing, and its SHA-1. */
const [SCRIPT, SHA] = ["return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"];

/** What a fault that takes no data leaves. */
const KEPT = "what was written before";

/** How long a healthy server may take to answer, in milliseconds: shorter than most pauses. */
const SOON = 150;

function fails(well: boolean | number): void {
  if (!well) throw new Error("not as before");
}

async function atOnce(answer: Promise<unknown>): Promise<void> {
  const started = performance.now();
  await answer;
  fails(performance.now() - started < SOON);
}

Deno.test("single() can do to its server what it says, and takes it back", async (t) => {
  await using deployment = await single();
  const { server } = deployment;
  for (const fault of deployment.faults) {
    await t.step(fault.kind, async () => {
      const client = server.connect({ maxRetriesPerRequest: 0, retryStrategy: () => 10 });
      await until(async () => await client.set("kept", KEPT).catch(() => "") === "OK", "the client is connected");
      await client.script("LOAD", SCRIPT);
      assert(await strikes(fault, () => EFFECTS[fault.kind]!(client, server)), "the client notices");
      await until(async () => await client.set("b", 1, "PX", 1).catch(() => "") === "OK", "all is well again");
      const loses = fault.breach && fault.kind !== "clock set";
      if (!loses) assertEquals(await client.get("kept"), KEPT);
    });
  }
});

Deno.test({
  name: "single() does not set the clock back right after data was lost",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using deployment = await single();
    const [loss, set] = ["FLUSHALL", "clock set"].map((kind) => deployment.faults.find((fault) => fault.kind === kind));
    assert(set !== undefined);
    const { server } = deployment;
    for (let seed = 1; seed <= 8; seed++) {
      await loss!.inject(new Random(seed), new AbortController().signal, () => {});
      const over = new AbortController();
      const happens = set.inject(new Random(seed), over.signal, () => {});
      const sentAt = Date.now();
      const [seconds, microseconds] = await server.command("TIME") as [string, string];
      const ahead = Number(seconds) * 1_000 + Number(microseconds) / 1_000 - sentAt;
      over.abort();
      await happens;
      assert(ahead > -50, `seed ${seed}: ${ahead} ms`);
    }
  },
});

Deno.test("promoting() ends a breach anew when another failover has followed", async () => {
  await using deployment = await SentinelDeployment.start();
  let ends = 0;
  const epochs = new Set<number>();
  const epoch = async () => {
    const last = await deployment.epoch();
    epochs.add(last);
    return last;
  };
  await promoting(epoch, () => ends++, () => deployment.ready());
  // On a slow machine another failover may have followed.
  assertEquals(ends, epochs.size);
  ends = 0;
  await promoting(epoch, () => ends++, async () => void await deployment.failover());
  assertEquals(ends, 2);
  await deployment.ready();
  const failing = promoting(epoch, () => ends++, async () => {
    await deployment.failover();
    throw new Error("nothing is in order");
  });
  await assertRejects(() => failing, Error, "nothing is in order");
  assertEquals(ends, 4);
});
